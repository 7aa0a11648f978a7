"""Operands and results of ONNX's operators at the opsets that are written, without the onnx package.

`signatures.json` is what that package states; `tools/onnx_signatures.py` writes it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from graphir.files.rows import Rows, read_rows
from graphir.structure.record import record


class Formal(NamedTuple):
    """An operand or result of an operator: its name, the types that it may have, and the variable that stands for them
    ("" where members of a variadic one may differ)."""

    name: str
    types: frozenset[str]
    variable: str


@record
class OperatorSignature:
    """The operands and results of an operator at an opset, and the version of the operator that it is."""

    inputs: tuple[Formal, ...]
    outputs: tuple[Formal, ...]
    since: int


@cache
def signature(op_type: str, opset: int) -> OperatorSignature | None:
    """Return the signature of a default-domain operator; None where there is no such operator."""
    rows = [row for row in _document()["operators"].get(op_type, ()) if row[0] <= opset]
    if not rows or len(rows[-1]) == 1:
        return None
    _, since, inputs, outputs = rows[-1]
    return OperatorSignature(_formals(inputs), _formals(outputs), since)


def newest_opset() -> int:
    """Return the newest opset of the default domain that is written."""
    return int(_document()["newest"])


def onnx_release() -> str:
    """Return the release of ONNX whose operators are written."""
    return str(_document()["onnx"])


def _formals(listed: list[tuple[str, int, str]]) -> tuple[Formal, ...]:
    return tuple([Formal(name, _types(number), variable) for name, number, variable in listed])


@cache
def _types(number: int) -> frozenset[str]:
    return frozenset(_document()["types"][str(number)].split())


@cache
def _document() -> Rows:
    return read_rows(Path(__file__).with_name("signatures.json"))
