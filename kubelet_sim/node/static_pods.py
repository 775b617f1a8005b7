"""Static pods: manifests in a directory, which a kubelet runs without being told by an API server.

Whoever runs a node runs this beside it; the node itself opens no manifests. A kubelet also watches the directory; here it
is looked at every 20 s of the node's clock, which is what a kubelet does besides.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import stat
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

from attrs import frozen

from kubelet_sim.errors import KubeletSimError, TransportError, UsageError
from kubelet_sim.foreign import NO_UTF8
from kubelet_sim.manifests import pod_from_mapping, read_pods
from kubelet_sim.model.ids import PodUID
from kubelet_sim.model.pod import Pod
from kubelet_sim.node.node import Node
from kubelet_sim.transcript import RecordLevel

PERIOD_S = 20.0
"""How often a kubelet looks, unless it is configured otherwise."""
LARGEST_FILE = 4_000_000
_SOURCE = "kubernetes.io/config.source"
_HASH = "kubernetes.io/config.hash"


@frozen
class _Unusable:
    """Why a file is none of our pods."""

    problem: str


class StaticPods:
    """Keeps the static pods of a node as the directory says.

    Args:
        node: a started one.
        directory: where the manifests lie, one Pod a file; files whose names begin with a dot, and folders, do not count.
    """

    def __init__(self, node: Node, directory: Path) -> None:
        self._node = node
        self._directory = directory
        self._pods: dict[PodUID, Pod] = {}
        self._warned: dict[str, str] = {}

    async def run(self) -> None:
        """Look again and again, on the node's clock; never ends by itself."""
        while True:
            await self._node.clock.sleep(PERIOD_S)
            await self.look()

    async def look(self) -> None:
        """Bring the node's static pods in line with the files; what cannot be used is one warning until it changes.

        A pod whose file has changed is deleted and created anew; one whose file cannot be read any more is deleted. A
        static pod that somebody has deleted is back: only its file decides. Without a kubelet nobody looks.
        """
        if not self._node.has_kubelet:
            return
        wanted, problems = self._read()
        for uid in [uid for uid in self._pods if uid not in wanted]:
            pod = self._pods[uid]
            with contextlib.suppress(KubeletSimError):  # somebody else deleted it, or no kubelet runs
                if self._node.views.knows(uid):
                    await self._node.remove(pod.name, pod.namespace)
            if not self._node.views.knows(uid):
                del self._pods[uid]
        for uid, (name, pod) in wanted.items():
            if not self._node.views.knows(uid):
                try:
                    await self._node.apply([pod])
                except KubeletSimError as error:  # the name is taken, or no kubelet runs
                    problems[name] = str(error)
                else:
                    self._pods[uid] = pod
        self._warn(problems)

    def _read(self) -> tuple[dict[PodUID, tuple[str, Pod]], dict[str, str]]:
        """Pods with their files' names, and why others are none."""
        pods: dict[PodUID, tuple[str, Pod]] = {}
        problems: dict[str, str] = {}
        try:
            paths = sorted(self._directory.iterdir())
        except FileNotFoundError:  # a directory that is gone holds no pods
            return {}, {"": "there is no such directory"}
        except OSError as error:
            return {uid: ("", pod) for uid, pod in self._pods.items()}, {"": f"cannot look into it: {error.strerror}"}
        for path in paths:
            match None if path.name.startswith(".") else _read_file(path, self._node.config.node_name):
                case _Unusable(problem):
                    problems[path.name] = problem
                case Pod() as pod if pod.uid in pods:
                    problems[path.name] = f"{pods[pod.uid][0]} holds a pod of the same uid"
                case Pod() as pod:
                    pods[pod.uid] = path.name, pod
        return pods, problems

    def _warn(self, problems: dict[str, str]) -> None:
        for name, problem in problems.items():
            if self._warned.get(name) != problem:
                where = self._directory / name if name else self._directory
                self._node.transcript.add("node", str(where), f"no static pod: {problem}", level=RecordLevel.WARNING)
        self._warned = problems


@contextlib.asynccontextmanager
async def static_pods(node: Node, directory: Path | None) -> AsyncGenerator[None, None]:
    """Have the static pods of a directory on a node as long as the block lasts; nothing without a directory."""
    if directory is None:
        yield
        return
    pods = StaticPods(node, directory)
    await pods.look()
    watching = asyncio.create_task(pods.run())
    try:
        yield
    finally:
        watching.cancel()
        await asyncio.wait([watching])
        if not watching.cancelled() and (error := watching.exception()) is not None:
            raise TransportError(f"the directory {directory} was not watched any more: {error}") from error


def _read_file(path: Path, node_name: str) -> Pod | _Unusable | None:
    """The pod of a file; `None` for what a kubelet passes over: folders, and files that are gone again."""
    try:
        facts = path.stat()
        if stat.S_ISDIR(facts.st_mode):
            return None
        if not stat.S_ISREG(facts.st_mode):  # a pipe would keep us waiting
            return _Unusable("it is no regular file")
        if facts.st_size > LARGEST_FILE:
            return _Unusable(f"it has over {LARGEST_FILE} bytes")
        text = path.read_bytes().decode("utf-8-sig")
        return static_pod(text, path.name, node_name)
    except FileNotFoundError:
        return None
    except OSError as error:
        return _Unusable(error.strerror or str(error))
    except UnicodeDecodeError:
        return _Unusable(NO_UTF8)
    except UsageError as error:
        return _Unusable(str(error))


def static_pod(text: str, source: str, node_name: str) -> Pod:
    """The pod of a manifest as a kubelet takes it from a file: the node's name behind its own, a uid from what it says.

    A uid in the manifest stays. Raises `UsageError` for anything but one Pod.
    """
    numbers = _numbers()
    pods = read_pods(text, source, new_uid=lambda: next(numbers))
    if len(pods) != 1:
        raise UsageError(f"{source} holds {len(pods) or 'no'} pods; a kubelet takes one of each file")
    manifest: dict[str, Any] = dict(pods[0].manifest)
    metadata = dict(manifest["metadata"])
    digest = hashlib.md5(f"{node_name}\0{source}\0{text}".encode(), usedforsecurity=False).hexdigest()
    uid = metadata.get("uid") or digest
    annotations = {**(metadata.get("annotations") or {}), _SOURCE: "file", _HASH: digest}
    name = f"{pods[0].name}-{node_name}"
    manifest["metadata"] = {**metadata, "name": name, "uid": uid, "annotations": annotations}
    return pod_from_mapping(manifest, source=source)


def _numbers() -> Iterator[str]:
    """Stand-ins for uids, which are made from the text afterwards."""
    number = 0
    while True:
        number += 1
        yield str(number)
