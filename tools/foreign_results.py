"""Write `converters/onnx/importing/foreign_results.json`: element types of results of operators of other domains.

Run by hand with the newest onnxruntime, with the file's path as its argument:

    python tools/foreign_results.py converters/onnx/importing/foreign_results.json

One line an operator of `com.microsoft` and `ai.onnx.ml`, newest version: for each result the slot of the operand that
it shares its element type with, or the only type that it can have, or null where neither is so.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from graphir.files.rows import rows_text

DOMAINS = ("com.microsoft", "ai.onnx.ml")


def rules(schema: Any) -> list[int | str | None]:
    """What the table has of an operator: without the nulls at its end."""
    slots = {operand.typeStr: slot for slot, operand in reversed(list(enumerate(schema.inputs)))}
    found: list[int | str | None] = []
    for result in schema.outputs:
        only = sorted(result.types)[0] if len(result.types) == 1 else None
        found.append(only or slots.get(result.typeStr))
    while found and found[-1] is None:
        found.pop()
    return found


def tables() -> dict[str, dict[str, list[int | str | None]]]:
    """The table by domain and operator."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state  # noqa: TID251

    newest: dict[tuple[str, str], Any] = {}
    for schema in sorted(state.get_all_operator_schema(), key=lambda schema: schema.since_version):
        newest[schema.domain, schema.name] = schema
    found = {key: rules(schema) for key, schema in sorted(newest.items())}
    return {
        domain: {name: held for (own, name), held in found.items() if own == domain and held} for domain in DOMAINS
    }


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.parse_args().out.write_text(rows_text(tables(), *DOMAINS), encoding="ascii")


if __name__ == "__main__":
    main()
