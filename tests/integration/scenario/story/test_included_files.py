"""Files that a story refers to, and where errors say they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.scenario.story.story import Story
from kubelet_sim.scenario.story.story_reader import read_stories

FRAGMENT = """
vars: {socket: f.sock}
plugins:
  p: {resource: r, socket: "${socket}"}
  q: {resource: r, socket: q.sock}
steps:
- {do: serve, plugin: p}
"""


def read(folder: Path, text: str, *, allows_outside: bool = False) -> Story:
    """The one story of a file of that text."""
    (story,) = read_stories(text, str(folder / "story.yaml"), allows_outside=allows_outside)
    return story


def test_steps_of_a_fragment_come_where_it_is_included(tmp_path: Path) -> None:
    """Their steps come first, or where they are included; what the story says itself counts more."""
    (tmp_path / "f.yaml").write_text(FRAGMENT)
    story = read(
        tmp_path,
        "include: f.yaml\nplugins:\n  q: {resource: r, socket: own.sock}\nsteps:\n- do: pause\n- include: f.yaml\n",
    )
    assert [step.do for step in story.steps] == ["serve", "pause", "serve"]
    assert [step.number for step in story.steps] == [1, 2, 3]
    assert {name: script.socket for name, script in story.scripts.items()} == {"p": "f.sock", "q": "own.sock"}
    assert str(story.steps[2].place) == f"{tmp_path / 'f.yaml'}:7"


def test_a_fragment_that_includes_itself(tmp_path: Path) -> None:
    """A fragment that includes itself, by way of another, is refused."""
    (tmp_path / "a.yaml").write_text("include: b.yaml\n")
    (tmp_path / "b.yaml").write_text("include: ./a.yaml\n")
    with pytest.raises(UsageError, match=r"a.yaml includes itself, by way of story.yaml and a.yaml and b.yaml"):
        read(tmp_path, "include: a.yaml\n")


def test_nothing_outside_of_the_folder_is_read(tmp_path: Path) -> None:
    """Neither by dots nor by a link, unless that is allowed."""
    folder = tmp_path / "inside"
    folder.mkdir()
    (tmp_path / "f.yaml").write_text("steps:\n- do: pause\n")
    (folder / "link.yaml").symlink_to(tmp_path / "f.yaml")
    for name in ("../f.yaml", "link.yaml", str(tmp_path / "f.yaml")):
        with pytest.raises(UsageError, match="outside of the story's folder"):
            read(folder, f"include: {name}\n")
        assert len(read(folder, f"include: {name}\n", allows_outside=True).steps) == 1


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    """It says so in the same words as everywhere; a path that cannot be is another matter."""
    (tmp_path / "f.yaml").write_bytes(b"\xff")
    with pytest.raises(UsageError, match=r"cannot read f.yaml: it is no UTF-8 text"):
        read(tmp_path, "include: f.yaml\n")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """The error has the line of the story."""
    text = "name: s\nnode: {runs_containers: true}\nsteps:\n- do: pause\n- do: apply\n  file: none.yaml\n"
    with pytest.raises(UsageError, match=r"story.yaml:5: s, step 2 \(apply\): cannot read none.yaml: No such file"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    "text, where",
    [
        ("- name: a\n  steps: []\n- name: b\n  steps:\n  - do: pause\n  - {do: dance}\n", ":6: b, step 2 (dance)"),
        ("---\n---\nname: a\nsteps:\n\n# words\n- do: serve\n", ":7: a, step 1 (serve): a step has no plugin"),
        ('[{"name": "a",\n"steps": [{"do": "pause"},\n{"do": "no"}]}]', ":3: a, step 2 (no)"),
        ("name: a\nsteps: [{do: in-use, expect: {x: {matches: '('}}}]", ":2: a, step 1 (in-use): expect: matches:"),
        ("name: a\nsteps: [{do: pause, expect: {within: 5s}}]", "expect: within is for steps that only look"),
        ("name: a\nsteps: []\ninclude: none.yaml\n", ":3: a: cannot read none.yaml"),
        ("name: a\nsteps:\n- do: pause\n- include: none.yaml\n", ":4: a, step 2 (include): cannot read none.yaml"),
        ("name: a\nsteps: [{do: crash}]", "that needs a node with runs_containers: true"),
        ("name: a\nplugins: {c: {command: [x]}}\nsteps: [{do: update, plugin: c, devices: []}]", "c is a command"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, text: str, where: str) -> None:
    """Of YAML in blocks and braces, of several documents, of JSON."""
    with pytest.raises(UsageError) as caught:
        read_stories(text, str(tmp_path / "story.yaml"))
    assert where in str(caught.value)
