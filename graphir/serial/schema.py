"""The JSON Schema of the structure file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) that every file written by `save_graph` satisfies."""
    text = Path(__file__).with_name("schema.json").read_text(encoding="ascii")
    return cast("dict[str, Any]", json.loads(text))
