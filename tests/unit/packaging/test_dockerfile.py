"""The Dockerfile as far as it can be read without a daemon to build it."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
KNOWN = {"ARG", "FROM", "COPY", "RUN", "LABEL", "ENV", "WORKDIR", "USER", "ENTRYPOINT", "CMD"}


def instructions() -> list[tuple[str, str]]:
    """Each with its text; comments left out, continued lines joined."""
    lines = [
        line for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines() if not line.startswith("#")
    ]
    text = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    found = [line.split(None, 1) for line in text.splitlines() if line.strip()]
    return [(name, rest) for name, rest in found]


def last_stage() -> dict[str, str]:
    """The instructions of the image that is kept; of several of a kind the last."""
    all_of_them = instructions()
    begin = max(number for number, (name, _) in enumerate(all_of_them) if name == "FROM")
    return dict(all_of_them[begin:])


def test_every_instruction_is_one() -> None:
    """There is none that Docker does not know, and the arrays are JSON."""
    assert {name for name, _ in instructions()} <= KNOWN
    assert json.loads(last_stage()["ENTRYPOINT"]) == ["kubelet-sim"]
    assert json.loads(last_stage()["CMD"]) == ["--help"]


def test_the_image_is_small_and_not_roots() -> None:
    """The kept stage is slim, takes the installed venv and nothing of the sources, and its user is a number other than 0."""
    stage = last_stage()
    assert stage["FROM"].endswith("-slim")
    assert stage["COPY"] == "--from=build /opt/kubelet-sim /opt/kubelet-sim"
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", stage["USER"])
    assert "pip" not in stage["RUN"]


def test_what_is_copied_is_there_and_is_sent() -> None:
    """Every source of a COPY exists, and `.dockerignore` lets it through; what the package is built of is among them."""
    sent = [
        line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line.startswith("!")
    ]
    copied = [
        word for name, rest in instructions() if name == "COPY" and "--from" not in rest for word in rest.split()[:-1]
    ]
    assert sorted(copied) == sorted(sent)
    assert all((ROOT / name).exists() for name in copied)
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for name in re.findall(r'packages = \["(\w+)", "(\w+)"\]', project)[0]:
        assert name in copied
