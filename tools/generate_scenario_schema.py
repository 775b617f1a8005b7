"""Generate the JSON Schema of story files, `docs/reference/scenario.schema.json`; with `--check`, only say whether it is fresh."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from kubelet_sim.scenario.schema import schema  # noqa: E402 - found only now

PAGE = ROOT / "docs" / "reference" / "scenario.schema.json"


def text() -> str:
    """The file."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 done or fresh, 1 stale (`--check`)."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the committed file differs")
    if not parser.parse_args(arguments).check:
        PAGE.write_text(text(), encoding="utf-8")
        return 0
    is_fresh = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text()
    if not is_fresh:
        print(f"{PAGE.name} is stale: run python tools/generate_scenario_schema.py", file=sys.stderr)
    return 0 if is_fresh else 1


if __name__ == "__main__":
    sys.exit(main())
