"""A story that goes wrong as a file which `scenario check` plays."""

from __future__ import annotations

from kubelet_sim.fuzz.search import SearchResult
from kubelet_sim.manifests.errors import printable
from kubelet_sim.scenario.record.recorder import flow_text

_WIDEST = 118


def story_text(searched: SearchResult) -> str:
    """The file: what was found and how, then the story, a step a line. Nothing was found: `ValueError`."""
    found = searched.found
    if found is None:
        raise ValueError("nothing went wrong")
    comments = [
        f"Found by kubelet-sim fuzz --seed {searched.config.seed}; the last step goes wrong{'' if found.is_certain else ' (seen once)'}:",
        f"{found.failure.do}: {found.failure.problem}",
        "Play it in the directory where that ran: kubelet-sim scenario check FILE",
    ]
    lines = [f"# {printable(comment)[:_WIDEST]}" for comment in comments]
    for key, value in found.document.items():
        if key == "steps":
            lines += ["steps:", *(f"- {flow_text(step)}" for step in value)]
        elif key == "plugins":
            lines += ["plugins:", *(f"  {name}: {flow_text(plugin)}" for name, plugin in value.items())]
        else:
            lines.append(f"{key}: {flow_text(value)}")
    return "\n".join(lines) + "\n"
