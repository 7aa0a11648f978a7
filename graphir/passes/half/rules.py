"""What the choice of dtypes asks of an operator's traits, and the operands and dtypes that are exceptions."""

from __future__ import annotations

from collections.abc import Mapping

from graphir.ops.base import Operator
from graphir.ops.traits import Rounding
from graphir.runtime.kernels import releases
from graphir.types import DType

TO_WHOLE = frozenset({Rounding.VIEWS, Rounding.MOVES, Rounding.EXACT, Rounding.ROUNDS})
"""How operators round by which numbers become places and lengths, on their way to a Cast to integers."""

LOOPS = frozenset({"Loop", "Scan"})
"""Operators whose bodies run step after step on what the step before left: only heavy ones in them are narrow."""

WIDE_SLOTS: Mapping[str, frozenset[int]] = {"BatchNormalization": frozenset({1, 2, 3, 4}), "Dropout": frozenset({1})}
"""Operands that stay float32 where the others are narrow: variance + epsilon has to keep its digits."""

UNSAID = {
    DType.FLOAT16: frozenset({"Celu"}),
    DType.BFLOAT16: frozenset({"Compress", "ReverseSequence", "Shrink"}),
}
"""Operators that ONNX has not in the dtype, whatever onnxruntime has."""

_TEXTS = {DType.FLOAT16: "float16", DType.BFLOAT16: "bfloat16"}


def moves(op: Operator) -> bool:
    """Return whether an operator moves elements and computes none: in which dtype follows from what it is given."""
    return op.rounding in (Rounding.VIEWS, Rounding.MOVES)


def reads(op: Operator) -> bool:
    """Return whether an operator takes what there is and gives no floats: it takes it in either dtype."""
    return op.rounding in (Rounding.SIZES, Rounding.TESTS)


def is_heavy(op: Operator) -> bool:
    """Return whether an operator is worth a Cast before and behind it."""
    return op.rounding is Rounding.PRODUCTS


def has_kernel(operator: str, dtype: DType) -> bool:
    """Return whether ONNX has an operator in the dtype and the newest onnxruntime that is known here runs it on the
    CPU.

    Where it has no kernel for float16 it goes through float32 by itself.

    >>> has_kernel("Conv", DType.FLOAT16), has_kernel("Conv", DType.BFLOAT16), has_kernel("Reshape", DType.BFLOAT16)
    (True, False, True)
    """
    if operator in UNSAID[dtype]:
        return False
    release = releases()[-1]
    wanted = _TEXTS[dtype]
    rows = [*release.kernels.get(operator, ()), *release.functions.get(operator, ())]
    texts = [text.split() for _, _, taken in rows for text in taken.values()]
    if not rows:
        return dtype is DType.FLOAT16  # a composition of others
    return any(wanted in text for text in texts) or (dtype is DType.FLOAT16 and any("float" in text for text in texts))
