"""What onnxruntime's CPU has kernels for, so that no file is written that it cannot open.

`kernels.json` holds it for releases from the oldest that graphir writes for to the newest, taken from these releases
themselves by `tools/onnxruntime_kernels.py`; onnxruntime is not needed to ask. Of a release after the first it has what
differs from the one before. A release opens a file whose opset and
IR version are not above its own and for each of whose nodes it has a kernel: for the version of the operator that the
file's opset has, and for the element types. Some operators without a kernel it replaces by the function that defines
them, others of float16 it runs in float32 by itself.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from graphir.files.rows import read_rows
from graphir.structure.record import record

# As the file has it: the first and the last version (None: the first alone), and by type variable or operand the
# element types with spaces between them; what is not named may have any.
Row = tuple[int, int | None, Mapping[str, str]]


# Kernels that are registered and stop when they run all the same: their operators, and the element types.
UNFINISHED: Mapping[str, frozenset[str]] = {"GRU": frozenset({"double"}), "LSTM": frozenset({"double"})}


@record
class Release:
    """One release of onnxruntime: its number, the newest opset and IR version that it opens, its kernels by operator.

    `functions` are operators that it expands; their rows count opsets of the file, not versions of the operator, and
    None is the newest opset of the release.
    """

    number: str
    opset: int
    ir_version: int
    kernels: Mapping[str, Sequence[Row]]
    functions: Mapping[str, Sequence[Row]]

    def runs(
        self, op_type: str, since: int, opset: int, types: Mapping[str, str], *, halves: bool = True
    ) -> bool:
        """Return whether a node of ONNX's own domain has a kernel: of the operator's version `since`, in a file of an
        opset.

        `types` are element types as ONNX's type constraints write them (`float` for `tensor(float)`), by type variable
        or operand; "" where one is not known. `halves` says that an operand is of float16, without which onnxruntime
        does not go through float32.

        >>> newest = releases()[-1]
        >>> newest.runs("Relu", 14, 17, {"T": "int8"}), newest.runs("Relu", 14, 17, {"T": "int64"})
        (True, False)
        >>> newest.runs("RandomUniform", 1, 21, {}), newest.runs("RandomUniform", 22, 22, {})
        (True, False)
        """
        if not UNFINISHED.get(op_type, frozenset()).isdisjoint(types.values()):
            return False
        if self._has_row(op_type, since, opset, types):
            return True
        if not halves or "float16" not in types.values() or self.functions.get(op_type):
            return False
        return self._has_row(op_type, since, opset, {
            name: "float" if text == "float16" else text for name, text in types.items()
        })  # fmt: skip

    def _has_row(self, op_type: str, since: int, opset: int, types: Mapping[str, str]) -> bool:
        for first, last, taken in self.kernels.get(op_type, ()):
            is_for = first == since or (last is not None and first <= since <= last)
            if is_for and _takes(taken, types):
                return True
        functions = self.functions.get(op_type, ())
        return any(first <= opset <= (last or self.opset) and _takes(taken, types) for first, last, taken in functions)


def _takes(taken: Mapping[str, str], types: Mapping[str, str]) -> bool:
    return all(not text or name not in taken or text in taken[name].split() for name, text in types.items())


@cache
def releases() -> tuple[Release, ...]:
    """Return the releases in the table, the oldest first."""
    document = read_rows(Path(__file__).with_name("kernels.json"))
    releases: list[Release] = []
    for about in document["releases"]:
        tables: list[ChainMap[str, Any]] = []
        for part in ("kernels", "functions"):
            before = getattr(releases[-1], part).maps if releases else ()
            tables.append(ChainMap(document[f"{part} of {about['number']}"], *before))
        releases.append(Release(about["number"], about["opset"], about["ir_version"], *tables))
    return tuple(releases)
