"""Running one operator's rules, memoised: each is a pure function of the operator and of types."""

from __future__ import annotations

from typing import cast

from ..errors import ShapeError
from ..ops.base import Known, Operator, Values
from ..types import DType, TensorType, Type

MEMO_LIMIT = 20_000
_results: dict[object, tuple[Type, ...]] = {}
_operands: dict[object, tuple[TensorType | None, ...]] = {}


def infer_outputs(op: Operator, operands: tuple[Type | None, ...], values: Values) -> tuple[Type, ...]:
    """The result types of `op` for operands of these types, whose known elements are `values`.

    The answer is a pure function of the arguments and remembered. Raises ShapeError as the rule does.
    """
    key: object = (op, operands, values) if op.reads else (op, operands)
    found = _results.get(key)
    if found is None:
        result = op.infer(*operands, values=values) if op.reads else op.infer(*operands)
        found = result if isinstance(result, tuple) else (result,)
        if len(found) != op.output_count:
            raise ShapeError(f"{op.name}: the rule gave {len(found)} types for {op.output_count} results")
        if len(_results) >= MEMO_LIMIT:
            _results.clear()
        _results[key] = found
    return found


def infer_operands(
    op: Operator, operands: tuple[TensorType | None, ...], results: tuple[TensorType, ...]
) -> tuple[TensorType | None, ...]:
    """What the operands of `op` must be, given all types. Raises ShapeError as the rule does."""
    key = (op, operands, results)
    found = _operands.get(key)
    if found is None:
        wanted = op.infer_inputs(operands, results)
        found = tuple([held if held == type_ else type_ for held, type_ in zip(operands, wanted, strict=True)])
        if len(_operands) >= MEMO_LIMIT:
            _operands.clear()
        _operands[key] = found
    return found


def infer_values(op: Operator, operands: tuple[Type | None, ...], values: Values) -> tuple[Known | None, ...] | None:
    """The known elements of the results, or None if there are none to know.

    A result with a number that its dtype does not hold is not known: at run time it would wrap around.
    """
    if not op.propagates or (not any(values) and op.least_inputs and op.name not in ("Shape", "Size")):
        return None
    found = op.propagate(cast("tuple[TensorType | None, ...]", operands), values)
    if all(known is None for known in found):
        return None
    if any(known is not None and not all(_is_small(element) for element in known.elements) for known in found):
        types = infer_outputs(op, operands, values)
        found = tuple([
            known if known is not None and _holds(type_, known) else None
            for known, type_ in zip(found, types, strict=True)
        ])
    return found if any(known is not None for known in found) else None


def _is_small(element: object) -> bool:
    """Whether every integer dtype holds the element; a symbolic size counts as such."""
    return not isinstance(element, int) or 0 <= element <= 127


def _holds(type_: Type, known: Known) -> bool:
    dtype = type_.dtype if isinstance(type_, TensorType) and type_.dtype is not None else DType.INT64
    bits = dtype.bits if dtype.is_integer else 1
    low, high = (0, 1 << bits) if dtype.value.startswith(("u", "b")) else (-(1 << (bits - 1)), 1 << (bits - 1))
    return all(not isinstance(element, int) or low <= element < high for element in known.elements)


__all__ = ["infer_operands", "infer_outputs", "infer_values"]
