"""Whatever text or value is handed in: pods or a ManifestError of one line."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from kubelet_sim.manifests import ManifestError, pod_from_mapping, read_pods
from kubelet_sim.manifests import fields as known

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
LABELS = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,8}[a-z0-9])?", fullmatch=True)
RESOURCES = st.dictionaries(
    st.sampled_from(["example.com/dev", "vendor.io/nic"]), st.integers(min_value=0, max_value=10**6), max_size=2
)
CONTAINERS = st.lists(st.tuples(LABELS, RESOURCES), min_size=1, max_size=4, unique_by=lambda container: container[0])
YAML_SNIPPETS = st.lists(
    st.sampled_from([
        "apiVersion: v1\n", "kind: Pod\n", "kind: List\n", "items:\n", "- ", "  ", "\n", "---\n", "...\n", "metadata: {name: p}\n",
        "spec:\n", " containers:\n", " - name: c\n", "&a ", "*a", "<<: ", "!!int ", "!!str ", "!x ", "? ", ": ", "[", "]", "{", "}",
        "'", '"', "|\n", ">-\n", "%YAML 1.1\n", "\t", "on", "1e3", "0x", "2020-01-01", ".inf", "\\ud800", "#", ",", "=", "\x85",
    ]),
    max_size=20,
).map("".join)  # fmt: skip


def assert_pods_or_error(text: str) -> None:
    """Reads the text; an error has to be a line that a terminal can show."""
    line = complaint(lambda: read_pods(text, "f.yaml"))
    assert line.isprintable()
    assert len(line) < 1000


def complaint(read: Callable[[], object]) -> str:
    """The text of the reader's error; empty if there was none."""
    try:
        read()
    except ManifestError as error:
        return str(error)
    return ""


def mutated(value: Any, path: list[int], new: Any) -> Any:
    """The value with one part, found along `path`, replaced."""
    if not path or not isinstance(value, dict | list) or not value:
        return new
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[path[0] % len(keys)]
    changed = value.copy()
    changed[key] = mutated(value[key], path[1:], new)
    return changed


def document(containers: list[tuple[str, dict[str, int]]]) -> dict[str, Any]:
    """A pod of app containers with limits."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "n", "uid": "u"},
        "spec": {"containers": [{"name": name, "resources": {"limits": limits}} for name, limits in containers]},
    }


@given(st.text(max_size=60) | YAML_SNIPPETS)
def test_any_text_gives_pods_or_one_line(text: str) -> None:
    """No text makes the reader stumble."""
    assert_pods_or_error(text)


@given(VALUES)
def test_any_value_as_yaml_and_json(value: Any) -> None:
    """Nor does any value, written as YAML or as JSON."""
    assert_pods_or_error(json.dumps(value))
    assert_pods_or_error(yaml.safe_dump(value))


@given(CONTAINERS, st.lists(st.integers(min_value=0, max_value=9), max_size=6), VALUES)
def test_a_pod_with_any_part_replaced(containers: list[tuple[str, dict[str, int]]], path: list[int], new: Any) -> None:
    """A good pod of which one part is anything else is a pod or an error, with and without the API server's checks."""
    changed = mutated(document(containers), path, new)
    for api_checks in (True, False):
        assert complaint(functools.partial(pod_from_mapping, changed, api_checks=api_checks)).isprintable()


@given(CONTAINERS)
def test_yaml_json_and_mapping_say_the_same(containers: list[tuple[str, dict[str, int]]]) -> None:
    """A pod is the same from a mapping, from JSON, from YAML and from its own manifest, and has the amounts written."""
    original = document(containers)
    pod = pod_from_mapping(original)
    assert [(c.name, {name: int(q.value) for name, q in c.limits.items()}) for c in pod.containers] == containers
    assert read_pods(json.dumps(original), "f") == (pod,)
    # In quotes: a bare n or 1e3 is text for PyYAML, and none for kubectl.
    assert read_pods(yaml.safe_dump(original, default_style='"'), "f") == (pod,)
    assert pod_from_mapping(pod.manifest) == pod


@given(st.sampled_from([known.POD, known.METADATA, known.SPEC, known.CONTAINER, known.RESOURCES]))
def test_field_names_are_names(names: frozenset[str]) -> None:
    """The lists of fields hold camel-case words."""
    assert all(name.isascii() and name.isalpha() and name[0].islower() for name in names)
