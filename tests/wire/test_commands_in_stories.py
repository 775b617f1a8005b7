"""Stories with plugins that are real processes, on nodes that run containers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kubelet_sim.scenario.play.player import Played, play
from kubelet_sim.scenario.play.report import wrong_step_text
from kubelet_sim.scenario.story.story_reader import story_from_mapping
from tests.patience import PATIENCE_S

GPU = "example.com/gpu"
OK = {"code": "OK", "message": ""}
ENV_GPU = ["{python}", "-m", "plugins_examples.env_gpu", "--socket-dir", "{dir}", "--gpus", "2"]


def played(*steps: dict[str, Any], command: list[str] | None = None, within: str = "20s", **node: Any) -> Played:
    """A story with the plugin `mine`."""
    plugin = {"command": command or ENV_GPU, "ready": {"registered": GPU, "within": within}}
    story = story_from_mapping(
        {"name": "s", "node": {"runs_containers": True} | node, "plugins": {"mine": plugin}, "steps": list(steps)}
    )
    return asyncio.run(asyncio.wait_for(play(story), PATIENCE_S))


def pod(name: str, **more: Any) -> dict[str, Any]:
    """A pod that wants one GPU."""
    container = {"name": "main", "resources": {"limits": {GPU: 1}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container], **more}}


def test_the_life_of_a_plugin_and_a_node() -> None:
    """A real plugin comes back after a restart, a pod gets its device, ends, and is deleted; nothing is wrong with it."""
    story = played(
        {"do": "register", "plugin": "mine", "expect": OK},
        {"do": "apply", "pods": [pod("one", restartPolicy="Never")], "expect": {"pods": {"one": "created"}}},
        {"do": "wait", "pod": "one", "phase": "Running"},
        {"do": "allocations", "save": "held", "expect": {"allocations": [{"contains": {"pod": "default/one"}}]}},
        {
            "do": "container-spec",
            "pod": "one",
            "expect": {"contains": {"options": {"envs": [["NVIDIA_VISIBLE_DEVICES", {"any": "text"}]]}}},
        },
        {"do": "podresources", "call": "list", "expect": {"pods": {"contains": [{"pod": "default/one"}]}}},
        {"do": "restart"},
        {"do": "wait", "resource": GPU, "healthy": 2, "within": "20s"},
        {"do": "pods", "pod": "one", "expect": {"contains": {"phase": "Running"}}},
        {"do": "exit", "pod": "one", "code": 3, "expect": {"container": "main"}},
        {"do": "pods", "pod": "one", "expect": {"within": "1m", "clock": "node", "contains": {"phase": "Failed"}}},
        {"do": "delete-pod", "pod": "one"},
        {"do": "pods", "expect": {}},
        {"do": "reboot"},
        {
            "do": "resources",
            "resource": GPU,
            "expect": {"within": "20s", "contains": {"endpoint": "live", "healthy": 2}},
        },
        {"do": "crash"},
        {"do": "node", "expect": {"contains": {"kubelet": False}}},
        {"do": "start-kubelet"},
        {"do": "wait", "resource": GPU, "within": "20s"},
        {"do": "sound", "plugin": "mine", "expect": {"problems": []}},
        {"do": "stop", "plugin": "mine"},
        {"do": "process", "plugin": "mine", "expect": {"running": False, "exit_code": 0}},
    )
    assert story.wrong is None, wrong_step_text(story)


LATE = """
from plugins_examples.faulty import __main__, conduct

good = conduct.Conduct._lists

def late(self, resource, stream):
    stream.wait(1.0)
    yield from good(self, resource, stream)

conduct.Conduct._lists = late
__main__.main()
"""


def test_a_plugin_is_ready_with_its_own_list() -> None:
    """Not with the one that the process before it has left."""
    register = {"do": "register", "plugin": "mine"}
    expected = {"contains": {"endpoint": "live", "healthy": 3}}
    story = played(
        register,
        {"do": "stop", "plugin": "mine"},
        register,
        {"do": "resources", "resource": GPU, "expect": expected},
        command=["{python}", "-c", LATE, "--socket-dir", "{dir}", "--resource", GPU],
    )
    assert story.wrong is None, wrong_step_text(story)


def test_a_plugin_that_does_not_register() -> None:
    """The step fails in its time, and shows what the plugin said."""
    story = played(
        {"do": "register", "plugin": "mine"}, command=["sh", "-c", "echo no GPUs here; exec sleep 60"], within="300ms"
    )
    assert story.wrong is not None
    assert story.wrong.failure == "mine did not register example.com/gpu within 0.3 s"
    assert wrong_step_text(story).endswith("what mine said last:\n  no GPUs here")


@pytest.mark.parametrize(
    "command, code", [(["sh", "-c", "exit 7"], "7"), (["/no/such/plugin"], "127"), (["sh", "-c", "kill -9 $$"], "-9")]
)
def test_a_plugin_that_ends(command: list[str], code: str) -> None:
    """Nobody waits for it any longer."""
    story = played({"do": "register", "plugin": "mine"}, command=command)
    assert story.wrong is not None
    assert story.wrong.failure == f"mine ended with {code} before it had registered"


def test_a_plugin_that_dies_by_itself_is_not_sound() -> None:
    """One that a story kills is."""
    died = played(
        {"do": "start", "plugin": "mine"},
        {"do": "process", "plugin": "mine", "expect": {"within": "5s", "running": False, "exit_code": 7}},
        {"do": "sound", "plugin": "mine", "expect": {"problems": ["the process ended by itself, with exit code 7"]}},
        command=["sh", "-c", "exit 7"],
    )
    assert died.wrong is None, wrong_step_text(died)
    killed = played(
        {"do": "start", "plugin": "mine"},
        {"do": "signal", "plugin": "mine", "signal": "SIGSTOP"},
        {"do": "kill", "plugin": "mine"},
        {"do": "sound", "plugin": "mine", "expect": {"problems": []}},
        command=["sleep", "60"],
    )
    assert killed.wrong is None, wrong_step_text(killed)
