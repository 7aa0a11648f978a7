"""Write `converters/onnx/exporting/signatures.json`: operands and results of ONNX's operators, by opset.

Run by hand with the newest onnx, with the file's path as its argument:

    python tools/onnx_signatures.py converters/onnx/exporting/signatures.json

One line an operator of the default domain: a row for each opset from which it is another one, the oldest that is
written first, with the operator's version, its operands and its results, each by its name, the number of its set of
types and the variable that stands for them ("" where the members of a variadic one may differ). A row of an opset alone
says that the operator is gone. Models are written from this table, so that the onnx package is not needed for it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import onnx  # noqa: TID251
import onnx.defs  # noqa: TID251

from graphir.converters.onnx.exporting.opsets import OLDEST_OPSET
from graphir.files.rows import rows_text


class Sets:
    """Sets of types, each written once."""

    def __init__(self) -> None:
        self.numbers: dict[frozenset[str], int] = {}

    def number(self, types: Any) -> int:
        """The number of a set."""
        return self.numbers.setdefault(frozenset(types), len(self.numbers))


def rows(op_type: str, newest: int, sets: Sets) -> list[list[Any]]:
    """What the table has of an operator."""
    found: list[list[Any]] = []
    for opset in range(OLDEST_OPSET, newest + 1):
        row: list[Any] = []
        if onnx.defs.has(op_type, opset):
            schema = onnx.defs.get_schema(op_type, opset, "")
            row = [schema.since_version, formals(schema.inputs, sets), formals(schema.outputs, sets)]
        if row != (found[-1][1:] if found else []):
            found.append([opset, *row])
    return found


def formals(parameters: Any, sets: Sets) -> list[list[Any]]:
    """Operands or results."""
    return [
        [parameter.name, sets.number(parameter.types), parameter.type_str if parameter.is_homogeneous else ""]
        for parameter in parameters
    ]


def table() -> str:
    """The file."""
    newest = int(onnx.defs.onnx_opset_version())
    names = sorted({schema.name for schema in onnx.defs.get_all_schemas_with_history() if not schema.domain})
    sets = Sets()
    operators = {name: found for name in names if (found := rows(name, newest, sets))}
    types = {str(number): " ".join(sorted(members)) for number, members in enumerate(sets.numbers)}
    head = {"onnx": onnx.__version__, "newest": newest}
    return rows_text({**head, "types": types, "operators": operators}, "types", "operators")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="the file to write")
    parser.parse_args().out.write_text(table(), encoding="ascii")
