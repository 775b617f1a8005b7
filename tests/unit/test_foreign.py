"""What others said, and how they ended, in few words."""

from __future__ import annotations

import pytest

from kubelet_sim.foreign import ending, gist


def test_the_gist_has_the_first_line_and_the_last_ones() -> None:
    """A program of Go's that does not know an option says so first, and all its options after that, behind tabs."""
    said = [
        "flag provided but not defined: -x",
        "Usage of plugin:",
        "  -dir string",
        "",
        "    \tthe directory",
        "  -v",
        "\tmore",
    ]
    assert gist(said) == "flag provided but not defined: -x / … / the directory / -v / more"


@pytest.mark.parametrize(
    "said, told", [([], ""), ([" ", "\t"], ""), (["a\tb"], "a b"), (list("abcd"), "a / b / c / d")]
)
def test_a_gist_of_few_lines_has_all_of_them(said: list[str], told: str) -> None:
    """Lines without text are left out."""
    assert gist(said) == told


@pytest.mark.parametrize(
    "code, words",
    [(None, "ended"), (3, "ended with exit code 3"), (-9, "was killed by SIGKILL"), (-99, "was killed by signal 99")],
)
def test_an_end_is_told_by_exit_code_or_signal(code: int | None, words: str) -> None:
    """By an exit code, or by a signal with its name."""
    assert ending(code) == words
