"""Pod manifests to pods: what the API server would refuse is refused here, what it would add is added."""

from __future__ import annotations

import re
import secrets
import uuid
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from attrs import evolve, frozen

from kubelet_sim.manifests import fields
from kubelet_sim.manifests.cursor import Cursor
from kubelet_sim.manifests.documents import DocumentOrigin, plain_copy, read_documents
from kubelet_sim.manifests.errors import printable, quoted
from kubelet_sim.manifests.resources import read_quantities, read_resources
from kubelet_sim.model.ids import ContainerName, PodUID
from kubelet_sim.model.pod import Container, ContainerKind, Pod
from kubelet_sim.model.resource_name import LONGEST_DOMAIN, is_dns_subdomain

_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_LISTS = frozenset({"List", "PodList"})
_TEMPLATES = frozenset(
    {"CronJob", "DaemonSet", "Deployment", "Job", "PodTemplate", "ReplicaSet", "ReplicationController", "StatefulSet"}
)

_Claimed = Mapping[str, frozenset[str]]
_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_LONGEST_LABEL = 63
_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""Those of the API server: no vowels, hence no words."""
_SUFFIX_LENGTH = 5


def random_uid() -> str:
    """A UID as the API server makes them."""
    return str(uuid.uuid4())


def random_suffix() -> str:
    """What the API server appends to a `generateName`."""
    return "".join(secrets.choice(_SUFFIX_LETTERS) for _ in range(_SUFFIX_LENGTH))


def read_pods(
    text: str,
    source: str,
    *,
    api_checks: bool = True,
    new_uid: Callable[[], str] = random_uid,
    new_suffix: Callable[[], str] = random_suffix,
) -> tuple[Pod, ...]:
    """The pods of a file of YAML or JSON, in order: documents, and the items of Lists. None for a file without any.

    Args:
        text: The whole file.
        source: Its name, for errors; `-` for standard input.
        api_checks: Whether resources are checked as the API server does.
        new_uid: Makes the UID of a pod that has none.
        new_suffix: Makes the end of a name from `generateName`.

    Raises `ManifestError` for the first thing that is wrong; nothing is half returned.
    """
    reader = _Reader(api_checks, new_uid, new_suffix)
    by_name: dict[str, DocumentOrigin] = {}
    by_uid: dict[str, DocumentOrigin] = {}
    pods = []
    for origin, document in read_documents(text, source):
        for place in _objects(Cursor(plain_copy(document, origin), origin)):
            pod = reader.pod(place)
            _check_new(by_name, pod.key, place, ("metadata", "name"))
            _check_new(by_uid, pod.uid, place, ("metadata", "uid"))
            pods.append(pod)
    return tuple(pods)


def pod_from_mapping(
    document: Mapping[str, Any],
    *,
    source: str = "",
    document_number: int = 1,
    api_checks: bool = True,
    new_uid: Callable[[], str] = random_uid,
    new_suffix: Callable[[], str] = random_suffix,
) -> Pod:
    """The pod of one parsed document, which stays the caller's. Arguments and errors are those of `read_pods`."""
    origin = DocumentOrigin(source, document_number)
    return _Reader(api_checks, new_uid, new_suffix).pod(Cursor(plain_copy(document, origin), origin))


def _objects(place: Cursor) -> Iterator[Cursor]:
    """The document, or the items if it is a List."""
    kind = place.value.get("kind") if isinstance(place.value, dict) else None
    if not (isinstance(kind, str) and kind in _LISTS):
        yield place
        return
    listed = place.fields(fields.LIST)
    _check_version(listed["apiVersion"])
    for item in listed["items"].items():
        yield from _objects(
            Cursor(
                item.value, DocumentOrigin(place.origin.source, place.origin.number, (*place.origin.within, *item.path))
            )
        )


def _check_new(seen: dict[str, DocumentOrigin], key: str, place: Cursor, path: tuple[str, ...]) -> None:
    if key in seen:
        problem = f"{quoted(key)} is the pod of document {seen[key].number}, too"
        raise place.origin.error(path, problem, "Expected every pod once")
    seen[key] = place.origin


@frozen
class _Reader:
    """How pods are read: what is checked, and where names come from."""

    api_checks: bool
    new_uid: Callable[[], str]
    new_suffix: Callable[[], str]

    def pod(self, place: Cursor) -> Pod:
        _check_kind(place)
        top = place.fields(fields.POD)
        metadata = top["metadata"].fields(fields.METADATA)
        if not top["spec"].is_there:
            raise top["spec"].error("there is no spec", "Expected a mapping with containers")
        spec = top["spec"].fields(fields.SPEC)
        name = self.name(metadata)
        init_containers, containers = self.containers(spec, _claimed(top["status"]))
        return Pod(
            name=name,
            namespace=_label(metadata["namespace"], "a namespace") if metadata["namespace"].text() else "default",
            uid=PodUID(metadata["uid"].text() or self.new_uid()),
            init_containers=init_containers,
            containers=containers,
            overhead=MappingProxyType(read_quantities(spec["overhead"], api_checks=self.api_checks)),
            restart_policy=spec["restartPolicy"].choice(_RESTART_POLICIES) or "Always",
            manifest=place.value,
        )

    def name(self, metadata: dict[str, Cursor]) -> str:
        """The name, or one made from `generateName`, whose end is cut so that all of it fits a label."""
        place = metadata["name"]
        prefix = metadata["generateName"].text()
        name = place.text()
        if not name and prefix:
            place = metadata["generateName"]
            name = prefix[: _LONGEST_LABEL - _SUFFIX_LENGTH] + self.new_suffix()
        if not name:
            raise place.error("the pod has no name", "Expected metadata.name or metadata.generateName")
        if not is_dns_subdomain(name):
            hint = f"Expected lower-case letters, digits, - and ., at most {LONGEST_DOMAIN}, a letter or digit at both ends"
            raise place.error(f"{quoted(place.value)} is no pod name", hint)
        return name

    def containers(
        self, spec: dict[str, Cursor], claimed: _Claimed
    ) -> tuple[tuple[Container, ...], tuple[Container, ...]]:
        """The init containers and the app containers, each in order, every name once."""
        for place in spec["ephemeralContainers"].items():
            raise place.error("a new pod has no ephemeral containers", "Leave them out: they come to a running pod")
        names: set[str] = set()

        def read(field: str, kind: ContainerKind) -> tuple[Container, ...]:
            containers = tuple(self.container(place, names, kind) for place in spec[field].items())
            return tuple(evolve(each, claimed=claimed.get(each.name, frozenset())) for each in containers)

        init, apps = read("initContainers", ContainerKind.INIT), read("containers", ContainerKind.APP)
        if not apps:
            raise spec["containers"].error("there is no container", "Expected a list of at least one")
        return init, apps

    def container(self, place: Cursor, names: set[str], kind: ContainerKind) -> Container:
        """One container, whose name joins those of the pod."""
        parts = place.fields(fields.CONTAINER)
        name = _label(parts["name"], "a container name")
        if name in names:
            raise parts["name"].error(f"{quoted(name)} is the name of two containers", "Expected a name of its own")
        names.add(name)
        parts["image"].text()
        policy = parts["restartPolicy"].choice(_RESTART_POLICIES)
        if kind is ContainerKind.INIT and policy == "Always":
            kind = ContainerKind.SIDECAR
        limits, requests = read_resources(parts["resources"], api_checks=self.api_checks)
        return Container(ContainerName(name), kind, limits, requests)


def _claimed(status: Cursor) -> _Claimed:
    """Names of limits that a resource claim serves, by container; a manifest has a status when it comes from a node.

    Rules: DM-85
    """

    def within(place: Cursor, name: str) -> Cursor:
        return place.entries().get(name, Cursor(None, place.origin, (*place.path, name)))

    claimed: dict[str, frozenset[str]] = {}
    for mapping in within(within(status, "extendedResourceClaimStatus"), "requestMappings").items():
        container, resource = within(mapping, "containerName").text(), within(mapping, "resourceName").text()
        claimed[container] = claimed.get(container, frozenset()) | {resource}
    return claimed


def _check_kind(place: Cursor) -> None:
    entries = place.entries()
    kind = entries.get("kind", Cursor(None, place.origin, ("kind",)))
    word = kind.text()
    if word in _TEMPLATES:
        hint = "Expected Pod: take its pod template, and add apiVersion, kind and metadata.name"
        raise kind.error(f"found {printable(word)}", hint)
    if word != "Pod":
        raise kind.error(f"found {quoted(word)}" if word else "there is no kind", "Expected Pod")
    _check_version(entries.get("apiVersion", Cursor(None, place.origin, ("apiVersion",))))


def _check_version(place: Cursor) -> None:
    version = place.text()
    if version != "v1":
        raise place.error(f"found {quoted(version)}" if version else "there is no apiVersion", "Expected v1")


def _label(place: Cursor, what: str) -> str:
    name = place.text()
    if not name:
        raise place.error("there is no name", f"Expected {what}")
    if len(name) > _LONGEST_LABEL or not _LABEL.fullmatch(name):
        hint = f"Expected lower-case letters, digits and -, at most {_LONGEST_LABEL}, a letter or digit at both ends"
        raise place.error(f"{quoted(name)} is not {what}", hint)
    return name
