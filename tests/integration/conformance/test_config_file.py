from __future__ import annotations

from pathlib import Path

import pytest

from kubelet_sim.conformance import Isolation, Mode, SuiteConfig
from kubelet_sim.conformance.config_file import read_config
from kubelet_sim.errors import UsageError


def test_a_section_of_pyproject_is_read(tmp_path: Path) -> None:
    """Keys are the long names of options, hooks among them; paths count from the file."""
    (tmp_path / "pyproject.toml").write_text(
        """
[tool.kubelet-sim.conform]
command = "./plugin --dir {dir}"
isolate = "none"
mode = "full"
strict = true
kubelet-version = ["1.25", "1.36"]
known-failures = "known.txt"
start-timeout = 5
break = "./break {id}"
expect-resource = "example.com/a"
host-paths = { card0 = ["/dev/card0"] }
"""
    )
    config = read_config(tmp_path)
    assert config == SuiteConfig(
        command=("./plugin", "--dir", "{dir}"),
        isolate=Isolation.NONE,
        mode=Mode.FULL,
        is_strict=True,
        kubelet_versions=("1.25", "1.36"),
        known_failures=tmp_path / "known.txt",
        start_timeout_s=5.0,
        hooks={"break": "./break {id}"},
        expected_resources=("example.com/a",),
        host_paths={"card0": ("/dev/card0",)},
    )


def test_a_file_of_our_own_goes_before(tmp_path: Path) -> None:
    """`kubelet-sim.toml` with a section is enough; other files and sections mean nothing."""
    (tmp_path / "pyproject.toml").write_text("[tool.kubelet-sim.conform]\nseed = 1\n")
    (tmp_path / "kubelet-sim.toml").write_text("[conform]\nseed = 2\n")
    assert read_config(tmp_path).seed == 2
    (tmp_path / "kubelet-sim.toml").write_text("[else]\nseed = 2\n")
    assert read_config(tmp_path).seed == 1
    assert read_config(tmp_path / "nowhere") == SuiteConfig()


@pytest.mark.parametrize(
    "line",
    ["sed = 1", "seed = true", 'mode = "slow"', "strict = 1", "start-timeout = 0", "break = 1", "select = [1]", "="],
)
def test_what_cannot_be_is_refused_with_the_file_and_the_key(tmp_path: Path, line: str) -> None:
    """A key that is spelt wrong has no effect: it is an error."""
    (tmp_path / "kubelet-sim.toml").write_text(f"[conform]\n{line}\n")
    with pytest.raises(UsageError, match=r"kubelet-sim\.toml"):
        read_config(tmp_path)


def test_a_folder_that_nobody_may_look_into_has_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin may be tested from there all the same, by its full path."""

    def refused(_: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_file", refused)
    assert read_config(tmp_path) == SuiteConfig()


@pytest.mark.parametrize(
    "line, why",
    [
        ("command = 5", "5 cannot be: expected a text, or a list of them"),
        ("env = 5", "5 cannot be: expected a table"),
        ("host-paths = [1]", r"\[1\] cannot be: expected a table"),
        ("numa-nodes = 5", "5 cannot be: expected a list of whole numbers"),
        ("select = 5", "5 cannot be: expected a text, or a list of them"),
        ("known-failures = 5", "5 cannot be: expected a text"),
        ('mode = "slow"', "'slow' cannot be: expected one of default, quick, full"),
    ],
)
def test_what_was_expected_is_said(tmp_path: Path, line: str, why: str) -> None:
    """In the words of the file's author, not in Python's."""
    (tmp_path / "kubelet-sim.toml").write_text(f"[conform]\n{line}\n")
    with pytest.raises(UsageError, match=f"{why}$"):
        read_config(tmp_path)
