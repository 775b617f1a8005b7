"""NUMA distances that a user gives: a matrix, as YAML or JSON, one row a node."""

from __future__ import annotations

from kubelet_sim.errors import UsageError
from kubelet_sim.manifests.cursor import Cursor
from kubelet_sim.manifests.documents import read_documents
from kubelet_sim.manifests.errors import quoted


def read_numa_distances(text: str, source: str) -> tuple[tuple[int, ...], ...]:
    """The rows, each with one distance to every node; as `[[10, 20], [20, 10]]`.

    Distances need not be the same in both directions.

    Raises:
        ManifestError: it is no list of lists of positive whole numbers, or a row is not as long as there are rows.

    Rules: TM-15, TM-27
    """
    documents = read_documents(text, source)
    if len(documents) != 1:
        raise UsageError(f"{source}: {len(documents)} documents. Expected one matrix of distances")
    origin, matrix = documents[0]
    rows = tuple(tuple(_distance(item) for item in row.items()) for row in Cursor(matrix, origin).items())
    for number, row in enumerate(rows):
        if len(row) != len(rows):
            where = f"{source}: row {number} has {len(row)} distances"
            raise UsageError(f"{where}. Expected {len(rows)}, one to each node")
    return rows


def _distance(cursor: Cursor) -> int:
    value = cursor.value
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise cursor.error(f"found {quoted(value)}", "Expected a whole number above 0")
    return value
