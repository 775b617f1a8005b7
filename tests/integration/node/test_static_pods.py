from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.node.static_pods import PERIOD_S, static_pod, static_pods
from kubelet_sim.transcript import RecordLevel
from tests.integration.node.bench import Bench, RunOnBench, soon


def text(name: str, image: str = "x") -> str:
    """A manifest that asks for nothing."""
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{containers: [{{name: c, image: {image}}}]}}\n"
    )


@pytest.fixture
def directory(short_root: Path) -> Path:
    """Where the manifests lie."""
    path = short_root / "pods"
    path.mkdir()
    return path


OnBench = Callable[[Callable[[Bench], Awaitable[None]]], None]


@pytest.fixture
def with_pods(on_bench: RunOnBench, directory: Path) -> OnBench:
    """Run a test's body with a node that has the static pods of the directory."""

    def run(body: Callable[[Bench], Awaitable[None]]) -> None:
        async def whole(it: Bench) -> None:
            async with static_pods(it.node, directory):
                await body(it)

        on_bench(whole)

    return run


def names(it: Bench) -> list[str]:
    """The pods of the node."""
    return [view.name for view in it.node.status().pods]


def warnings(it: Bench) -> list[str]:
    """What was warned of."""
    return [record.text for record in it.node.transcript if record.level is RecordLevel.WARNING]


def test_a_static_pod_is_named_after_its_node() -> None:
    """Its uid comes from what the file says, unless the manifest has one; where it comes from is annotated."""
    pod = static_pod(text("a"), "a.yaml", "kubelet-sim")
    assert (pod.name, pod.namespace) == ("a-kubelet-sim", "default")
    assert pod.manifest["metadata"]["annotations"]["kubernetes.io/config.source"] == "file"
    assert pod.uid == static_pod(text("a"), "a.yaml", "kubelet-sim").uid
    assert (
        len(
            {
                pod.uid,
                static_pod(text("a", "other"), "a.yaml", "kubelet-sim").uid,
                static_pod(text("a"), "b.yaml", "kubelet-sim").uid,
            }
        )
        == 3
    )
    assert static_pod(text("a").replace("name: a", "name: a, uid: mine"), "a.yaml", "kubelet-sim").uid == "mine"


@pytest.mark.parametrize("content", ["", text("a") + "---\n" + text("b"), "kind: Service", "a: ["])
def test_a_file_holds_one_pod(content: str) -> None:
    """Anything else is refused, with the name of the file."""
    with pytest.raises(UsageError, match=r"a\.yaml"):
        static_pod(content, "a.yaml", "kubelet-sim")


def test_pods_follow_their_files(with_pods: OnBench, directory: Path) -> None:
    """They are there from the start; within 20 s of the node's clock a new, a changed and a removed file count."""
    (directory / "a.yaml").write_text(text("a"), encoding="utf-8")
    (directory / "b.json").write_text(text("b"), encoding="utf-8")
    (directory / ".c.yaml").write_text(text("hidden"), encoding="utf-8")
    (directory / "folder").mkdir()

    async def body(it: Bench) -> None:
        assert names(it) == ["a-kubelet-sim", "b-kubelet-sim"]
        before = {view.name: view.uid for view in it.node.status().pods}
        (directory / "a.yaml").write_text(text("a", "other"), encoding="utf-8")
        (directory / "b.json").unlink()
        (directory / "n.yaml").write_text(text("new"), encoding="utf-8")
        await soon(it.node.advance(PERIOD_S - 1))
        assert names(it) == ["a-kubelet-sim", "b-kubelet-sim"]
        await soon(it.node.advance(1))
        assert names(it) == ["a-kubelet-sim", "new-kubelet-sim"]
        assert it.node.status().pods[0].uid != before["a-kubelet-sim"]
        assert it.node.pod("a-kubelet-sim")["spec"]["containers"][0]["image"] == "other"
        assert warnings(it) == []

    with_pods(body)


def test_a_bad_file_is_one_warning(with_pods: OnBench, directory: Path) -> None:
    """It is told again only when it has become bad in another way; the other files count all the same."""
    (directory / "a.yaml").write_text(text("a"), encoding="utf-8")
    (directory / "bad.yaml").write_text("kind: Service", encoding="utf-8")
    os.mkfifo(directory / "pipe")

    async def body(it: Bench) -> None:
        assert names(it) == ["a-kubelet-sim"]
        assert len(warnings(it)) == 2
        await soon(it.node.advance(10 * PERIOD_S))
        assert len(warnings(it)) == 2
        (directory / "bad.yaml").write_bytes(b"\xff")
        await soon(it.node.advance(PERIOD_S))
        assert [line for line in warnings(it) if "UTF-8" in line]

    with_pods(body)


def test_a_file_that_turns_bad_takes_its_pod_with_it(with_pods: OnBench, directory: Path) -> None:
    """As in a kubelet: what is not delivered any more is deleted."""
    (directory / "a.yaml").write_text(text("a"), encoding="utf-8")

    async def body(it: Bench) -> None:
        (directory / "a.yaml").write_text("nonsense", encoding="utf-8")
        await soon(it.node.advance(PERIOD_S))
        assert names(it) == []

    with_pods(body)


def test_a_deleted_static_pod_comes_back(with_pods: OnBench, directory: Path) -> None:
    """Only its file decides; a kubelet restart changes nothing."""
    (directory / "a.yaml").write_text(text("a"), encoding="utf-8")

    async def body(it: Bench) -> None:
        await it.node.restart()
        assert names(it) == ["a-kubelet-sim"]
        await it.node.remove("a-kubelet-sim")
        await soon(it.node.advance(PERIOD_S))
        assert names(it) == ["a-kubelet-sim"]

    with_pods(body)


def test_a_name_that_is_taken_is_a_warning(with_pods: OnBench, directory: Path) -> None:
    """The pod that was first stays."""
    (directory / "a.yaml").write_text(text("a"), encoding="utf-8")
    (directory / "b.yaml").write_text(text("a", "other"), encoding="utf-8")

    async def body(it: Bench) -> None:
        assert names(it) == ["a-kubelet-sim"]
        assert ["already exists" in line for line in warnings(it)] == [True]

    with_pods(body)


def test_a_node_without_a_kubelet_is_looked_at_again(with_pods: OnBench, directory: Path) -> None:
    """What could not be done then is done at the next look."""
    (directory / "a.yaml").write_text(text("a"), encoding="utf-8")

    async def body(it: Bench) -> None:
        await it.node.kill()
        (directory / "a.yaml").unlink()
        await soon(it.node.advance(PERIOD_S))
        await it.node.boot(frozenset(), ())
        assert names(it) == ["a-kubelet-sim"]
        await soon(it.node.advance(PERIOD_S))
        assert names(it) == []

    with_pods(body)


def test_the_watch_ends_with_the_block(on_bench: RunOnBench, directory: Path) -> None:
    """No task is left; without a directory there is none in the first place."""

    async def body(it: Bench) -> None:
        before = asyncio.all_tasks()
        async with static_pods(it.node, None), static_pods(it.node, directory):
            assert len(asyncio.all_tasks() - before) == 1
        assert not asyncio.all_tasks() - before

    on_bench(body)
