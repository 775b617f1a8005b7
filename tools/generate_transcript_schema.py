"""Write the JSON Schema of transcript files, made from the types whose values stand in them, into package and docs.

- `tools/generate_transcript_schema.py` writes both copies
- `tools/generate_transcript_schema.py --check` exits with 1 if one on disk is not what would be written
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kubelet_sim.node.recording.schema import FILE_NAME, schema  # noqa: E402 (found by the line above)
from tools import generated  # noqa: E402 (likewise)

PLACES = (ROOT / "kubelet_sim" / "node" / "recording" / FILE_NAME, ROOT / "docs" / "reference" / FILE_NAME)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 written or fresh, 1 stale."""

    def files() -> dict[Path, str]:
        return dict.fromkeys(PLACES, json.dumps(schema(), indent=1) + "\n")

    return generated.run("generate_transcript_schema.py", __doc__, files, arguments)


if __name__ == "__main__":
    sys.exit(main())
