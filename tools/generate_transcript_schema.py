"""Write the JSON Schema of transcript files, made from the types whose values stand in them, into package and docs.

- `tools/generate_transcript_schema.py` writes both copies
- `tools/generate_transcript_schema.py --check` exits with 1 if one on disk is not what would be written
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kubelet_sim.node.recording.schema import FILE_NAME, schema  # noqa: E402 (found by the line above)

PLACES = (ROOT / "kubelet_sim" / "node" / "recording" / FILE_NAME, ROOT / "docs" / "reference" / FILE_NAME)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 written or fresh, 1 stale."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file would change")
    options = parser.parse_args(arguments)
    text = json.dumps(schema(), indent=1) + "\n"
    if not options.check:
        for place in PLACES:
            place.write_text(text, encoding="ascii")
        return 0
    stale = [place for place in PLACES if not place.exists() or place.read_text(encoding="ascii") != text]
    for place in stale:
        print(f"{place.relative_to(ROOT)} is stale: run tools/generate_transcript_schema.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
