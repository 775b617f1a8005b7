from __future__ import annotations

from pathlib import Path

import click
import pytest

from kubelet_sim.cli.helpers.options import duration_text, root_path, split_name, to_seconds


def test_what_is_no_duration_is_an_error_of_the_command_line() -> None:
    """As click shows them."""
    with pytest.raises(click.BadParameter):
        to_seconds(click.Context(click.Command("x")), click.Argument(["duration"]), "5x")


@pytest.mark.parametrize("seconds, text", [(90.0, "90s"), (0.5, "0.5s"), (30.0, "30s"), (1_000_000.0, "1000000s")])
def test_seconds_are_shown_short(seconds: float, text: str) -> None:
    """Without needless zeros, and without exponents."""
    assert duration_text(seconds) == text


def test_a_pod_is_named_with_or_without_its_namespace() -> None:
    """What stands before a slash wins over the option."""
    assert split_name("p") == ("default", "p")
    assert split_name("p", "n") == ("n", "p")
    assert split_name("m/p", "n") == ("m", "p")


def test_the_root_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A root that is named relative to the working directory is found from anywhere; without a name there is a default."""
    monkeypatch.chdir(tmp_path)
    assert root_path(Path("r")) == tmp_path.resolve() / "r"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert root_path(None) == tmp_path.resolve() / "kubelet-sim"
