"""Generate the JSON Schema of story files, `docs/reference/scenario.schema.json`; with `--check`, only say whether it is fresh."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from kubelet_sim.scenario.story.schema import schema  # noqa: E402 - found only now
from tools import generated  # noqa: E402 (likewise)

PAGE = ROOT / "docs" / "reference" / "scenario.schema.json"


def text() -> str:
    """Returns the text of the schema file."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 written or fresh, 1 stale."""
    return generated.run("generate_scenario_schema.py", __doc__, lambda: {PAGE: text()}, arguments)


if __name__ == "__main__":
    sys.exit(main())
