"""Which operator cases a provider runs, with the ONNX operators of each that run on its device."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "placed"


@cache
def placed_operators(name: str) -> dict[str, list[str]] | None:
    """Return the cases with the operators, None for a provider without a list."""
    path = FOLDER / f"{name}.json"
    if not path.is_file():
        return None
    return {case: operators.split() for case, operators in json.loads(path.read_text(encoding="utf-8")).items()}


def write_placed(name: str, placed: dict[str, list[str]]) -> None:
    """Write a provider's list, one case a line."""
    FOLDER.mkdir(exist_ok=True)
    lines = {case: " ".join(operators) for case, operators in sorted(placed.items())}
    (FOLDER / f"{name}.json").write_text(json.dumps(lines, indent=0) + "\n", encoding="utf-8")


__all__ = ["placed_operators", "write_placed"]
