"""Tables for eyes: foreign text in them is escaped, and markup in it is text."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kubelet_sim.foreign import escape_terminal

Row = Sequence[str]
_UNBOUNDED = 1_000_000
"""Columns for a table: nothing is cut or wrapped in it."""
COLOURS = {
    "yes": "green",
    "Running": "green",
    "Warning": "yellow",
    "live": "green",
    "Failed": "red",
    "failed": "red",
    "stopped": "red",
    "Pending": "yellow",
    "placeholder": "yellow",
}


def table_text(header: Row, rows: Sequence[Row]) -> str:
    """Columns side by side, as wide as they are, on a terminal too: a name that is in two pieces cannot be copied."""
    # Without both, rich would ask terminal and environment, and cut.
    console = Console(width=_UNBOUNDED, height=_UNBOUNDED, markup=False, emoji=False, highlight=False)
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), collapse_padding=True)
    for title in header:
        table.add_column(Text(title, style="bold"), no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell := escape_terminal(each), style=COLOURS.get(cell, "")) for each in row))
    with console.capture() as captured:
        console.print(table)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def indented_table(header: Row, rows: Sequence[Row], *, has_header: bool = True) -> list[str]:
    """The lines of a table below a heading; `<none>` for one without rows."""
    lines = table_text(header, rows).splitlines()[0 if has_header else 1 :] if rows else ["<none>"]
    return [f"  {line}" for line in lines]
