"""Running one operator's rule: memoised, with errors that name the operator."""

from __future__ import annotations

from typing import cast

from ..errors import ShapeError
from ..ops.base import Known, Operator, Values
from ..types import TensorType, Type

MEMO_LIMIT = 20_000
_memo: dict[object, tuple[Type, ...]] = {}


def infer_outputs(op: Operator, operands: tuple[Type | None, ...], values: Values) -> tuple[Type, ...]:
    """The result types of `op` for operands of these types, whose known elements are `values`.

    The answer is a pure function of the arguments and remembered. Raises ShapeError as the rule does.
    """
    key: object = (op, operands, values) if op.reads else (op, operands)
    found = _memo.get(key)
    if found is None:
        result = op.infer(*operands, values=values) if op.reads else op.infer(*operands)
        found = result if isinstance(result, tuple) else (result,)
        if len(found) != op.output_count:
            raise ShapeError(f"{op.name}: the rule gave {len(found)} types for {op.output_count} results")
        if len(_memo) >= MEMO_LIMIT:
            _memo.clear()
        _memo[key] = found
    return found


def infer_values(op: Operator, operands: tuple[Type | None, ...], values: Values) -> tuple[Known | None, ...] | None:
    """The known elements of the results, or None if there are none to know."""
    if not op.propagates or (not any(values) and op.least_inputs and op.name not in ("Shape", "Size")):
        return None
    found = op.propagate(cast("tuple[TensorType | None, ...]", operands), values)
    return found if any(known is not None for known in found) else None


__all__ = ["infer_outputs", "infer_values"]
