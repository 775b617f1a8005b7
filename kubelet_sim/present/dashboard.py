"""What the live view of `run` shows of a node at one moment: resources, devices, pods, events and the last lines.

Pure: a look at the node goes in, something that rich can draw comes out. All foreign text is escaped, and none of it is
taken for markup.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from attrs import define, field, frozen
from rich.cells import cell_len
from rich.console import Group
from rich.table import Table
from rich.text import Text

from kubelet_sim.foreign import escape_terminal
from kubelet_sim.model.durations import age_text
from kubelet_sim.model.views import DeviceView, EventView, NodeSnapshot, PodView, ResourceView
from kubelet_sim.present.pod_columns import status_text
from kubelet_sim.present.tables import COLOURS
from kubelet_sim.present.view_tables import grace_text

_CHANGES_KEPT = 50
_CHANGES_OF_ONE_LOOK = 5
_NAMED = 3
_LEAST_ROWS = 2
_GAP = 2
_WORTH_SEEING = 12
"""Of a text that has to be cut, so many characters, as long as there is something else to cut."""


@frozen
class DeviceChange:
    """What has become of some devices of a resource between two looks."""

    at_s: float
    resource: str
    count: int
    what: str
    ids: tuple[str, ...] = ()
    """None if there are too many."""

    def text(self, width: int) -> str:
        """A line that is fit for a terminal; ids are cut such that it says what has become of them."""
        head, tail = escape_terminal(f"{self.at_s:10.3f}s  {self.resource}: "), f": {self.what}"
        if not self.ids:
            return f"{head}{self.count} devices{tail}"
        ids = [escape_terminal(device) for device in self.ids]
        room = width - cell_len(head) - cell_len(tail)
        for shown in range(len(ids), 0, -1):
            names = f"{', '.join(ids[:shown])}{_more(len(ids) - shown)}"
            if cell_len(names) <= room:
                return f"{head}{names}{tail}"
        more = _more(len(ids) - 1)
        first = Text(ids[0])
        first.truncate(max(1, room - len(more)), overflow="ellipsis")
        return f"{head}{first.plain}{more}{tail}"


def _more(count: int) -> str:
    return f", {count} more" if count else ""


@frozen
class Look:
    """A node, and what it has told lately."""

    snapshot: NodeSnapshot
    events: tuple[EventView, ...] = ()
    """Oldest first."""
    lines: tuple[str, ...] = ()
    """Fit for a terminal, oldest first."""
    changes: tuple[DeviceChange, ...] = ()
    """Of devices, oldest first."""


@define
class DeviceChanges:
    """Remembers devices from look to look, and says what has become of them in between."""

    _before: dict[str, dict[str, DeviceView]] = field(factory=dict)
    _kept: deque[DeviceChange] = field(factory=lambda: deque(maxlen=_CHANGES_KEPT))

    def see(self, snapshot: NodeSnapshot) -> tuple[DeviceChange, ...]:
        """The last changes, those of this snapshot included; many at once are counted, not listed."""
        now = {view.name: {device.id: device for device in view.devices} for view in snapshot.resources}
        for name in sorted(now.keys() | self._before.keys()):
            found = _differences(self._before.get(name, {}), now.get(name, {}))
            for what, ids in found.items():
                named = tuple(ids) if len(ids) <= _CHANGES_OF_ONE_LOOK else ()
                self._kept.append(DeviceChange(snapshot.now_s, name, len(ids), what, named))
        self._before = now
        return tuple(self._kept)


def _differences(before: dict[str, DeviceView], now: dict[str, DeviceView]) -> dict[str, list[str]]:
    """Ids by what has become of them."""
    found: dict[str, list[str]] = {}
    for device_id in sorted(before.keys() | now.keys()):
        old, new = before.get(device_id), now.get(device_id)
        if old == new:
            continue
        if old is None or new is None:
            found.setdefault("gone" if new is None else "listed", []).append(device_id)
            continue
        if old.is_healthy != new.is_healthy:
            found.setdefault("healthy again" if new.is_healthy else "unhealthy", []).append(device_id)
        if old.is_allocated != new.is_allocated:
            found.setdefault("in use" if new.is_allocated else "free", []).append(device_id)
    return found


def picture(look: Look, width: int, height: int) -> Group:
    """The whole screen, for a terminal of so many columns and lines; what has no room is left out and counted."""
    now = look.snapshot
    share = max(_LEAST_ROWS, (height - 8) // 4)
    parts: list[Table | Text] = [_head(now)]
    parts += [_title("Resources"), _resources(now.resources, share, width, now.now_s)]
    parts += [_title("Pods"), _pods(now.pods, share, width, now.now_s)]
    used = 5 + min(len(now.resources), share + 1) + min(len(now.pods), share + 1)
    for title, rows in (
        ("Devices, last changes", tuple(change.text(width) for change in look.changes)),
        ("Events", tuple(_event(event, now.now_s) for event in look.events)),
    ):
        shown = rows[-max(_LEAST_ROWS, share // 2) :]
        if shown:
            parts += [_title(title), *map(_line, shown)]
            used += 1 + len(shown)
    room = max(_LEAST_ROWS, height - used - 1)
    parts += [_title("What happens"), *map(_line, look.lines[-room:])]
    return Group(*parts)


def _head(now: NodeSnapshot) -> Text:
    text = (
        f"kubelet {now.kubelet_version}  root {now.root}  {age_text(now.now_s)} on a {now.clock} clock"
        f"  {f'kubelet process {now.incarnation}' if now.has_kubelet else 'NO KUBELET RUNS'}  Ctrl-C ends it"
    )
    return _line(text, style="bold")


def _resources(views: Sequence[ResourceView], most: int, width: int, now_s: float) -> Table:
    header = ("NAME", "ENDPOINT", "DEVICES", "CAPACITY", "ALLOCATABLE")
    cells: Sequence[Callable[[ResourceView], str]] = (
        lambda view: view.name,
        lambda view: f"{view.endpoint} {grace_text(view.stopped_at_s, now_s)}".strip(),
        _devices,
        lambda view: view.node_capacity or "-",
        lambda view: view.node_allocatable or "-",
    )
    rows = [[of(view) for of in cells] for view in views]
    return _table(header, rows, most, width, ((2, _WORTH_SEEING), (2, 0)))


def _devices(view: ResourceView) -> str:
    """Counts, and the names of the first devices that are not healthy."""
    text = f"{view.healthy} healthy, {view.allocated} in use"
    if view.unhealthy:
        ill = [device.id for device in view.devices if not device.is_healthy]
        text += f", {view.unhealthy} unhealthy: {', '.join(ill[:_NAMED])}{' …' if len(ill) > _NAMED else ''}"
    return text


def _pods(views: Sequence[PodView], most: int, width: int, now_s: float) -> Table:
    """The youngest first: there may be more than fit."""
    ordered = sorted(views, key=lambda view: (-view.created_at_s, view.namespace, view.name))
    rows = [
        [
            f"{view.namespace}/{view.name}",
            _status(view),
            age_text(now_s - view.created_at_s),
            ", ".join(f"{each.name}: {each.state}" for each in view.containers),
            _message(view),
        ]
        for view in ordered
    ]
    header = ("NAME", "STATUS", "AGE", "CONTAINERS", "MESSAGE")
    cuts = ((4, _WORTH_SEEING), (3, _WORTH_SEEING), (3, 0), (4, 0), (2, 0))
    return _table(header, rows, most, width, cuts)


def _status(view: PodView) -> str:
    """The phase of a pod that was refused: there is a message, and room is scarce."""
    text = view.phase if view.reason else status_text(view)
    return f"{text} (!)" if view.missing else text


def _message(view: PodView) -> str:
    if view.missing:
        return f"without {', '.join(view.missing)} [DM-81]"
    return view.message or next((each.message for each in view.containers if each.message), "")


Cuts = Sequence[tuple[int, int]]
"""Which column gives way, and down to how many characters; in this order."""


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], most: int, width: int, cuts: Cuts) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), show_header=bool(rows))
    if not rows:
        table.add_row(_line("none yet", style="dim"))
        return table
    shown = [[_line(cell, style=COLOURS.get(cell, "")) for cell in row] for row in rows[:most]]
    if len(rows) > most:
        shown.append([_line(f"… and {len(rows) - most} more", style="dim"), *(Text() for _ in header[1:])])
    widths = [max(len(title), *(row[at].cell_len for row in shown)) for at, title in enumerate(header)]
    _narrow(widths, cuts, width)
    kept = [at for at, room in enumerate(widths) if room]
    for at in kept:
        table.add_column(Text(header[at], style="dim"), no_wrap=True, overflow="ellipsis", width=widths[at])
    for row in shown:
        table.add_row(*(row[at] for at in kept))
    return table


def _narrow(widths: list[int], cuts: Cuts, width: int) -> None:
    """Take from the columns what is too much for the terminal; one without a character is left out, its gap too."""
    for at, least in cuts:
        excess = sum(widths) + _GAP * (sum(map(bool, widths)) - 1) - width
        if excess <= 0:
            return
        if least or excess < widths[at]:
            widths[at] = min(widths[at], max(least, widths[at] - excess))
        else:
            widths[at] = 0


def _event(event: EventView, now_s: float) -> str:
    count = f" (x{event.count})" if event.count > 1 else ""
    return f"{age_text(now_s - event.at_s):>6} {event.type} {event.reason} {event.object}{count}: {event.message}"


def _title(text: str) -> Text:
    return Text(text, style="bold cyan")


def _line(text: str, style: str = "") -> Text:
    return Text(escape_terminal(text), style=style, no_wrap=True, overflow="ellipsis")
