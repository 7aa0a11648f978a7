"""Running one operator's rules, memoised: each is a pure function of the operator and of types."""

from __future__ import annotations

from typing import cast

from graphir.errors import ShapeError
from graphir.ops.base import Known, Operator, Values
from graphir.ops.known import stored
from graphir.types import TensorType, Type

MEMO_LIMIT = 20_000
MOST = (1 << 63) - 1
MOST_AXES = 64
# What rules raise where attributes and types do not fit each other in a way that no check of theirs names.
UNFIT = (LookupError, ArithmeticError, ValueError, MemoryError)
_results: dict[object, tuple[Type, ...]] = {}
_operands: dict[object, tuple[TensorType | None, ...]] = {}


def infer_outputs(op: Operator, operands: tuple[Type | None, ...], values: Values) -> tuple[Type, ...]:
    """Return the result types of `op` for operands of these types, whose known elements are `values`.

    The answer is a pure function of the arguments and remembered. Raises ShapeError as the rule does.
    """
    key: object = (op, operands, values) if op.reads else (op, operands)
    types = _results.get(key)
    if types is None:
        try:
            result = op.infer(*operands, values=values) if op.reads else op.infer(*operands)
        except AttributeError as error:  # rules of tensors look at shape and dtype, which other types lack
            _refuse_other_types(op, operands, error)
            raise
        except UNFIT as error:
            raise ShapeError(f"{op} does not fit operands of these types: {error}") from error
        types = result if isinstance(result, tuple) else (result,)
        if op.takes:
            op.check_dtypes(operands)
        if len(types) != op.output_count:
            raise ShapeError(f"{op.name}: the rule gave {len(types)} types for {op.output_count} results")
        for type_ in types:
            _refuse_odd_sizes(op, type_)
        if len(_results) >= MEMO_LIMIT:
            _results.clear()
        _results[key] = types
    return types


def _refuse_other_types(op: Operator, operands: tuple[Type | None, ...], error: Exception) -> None:
    """Raise ShapeError if an operand is no tensor."""
    others = [type_ for type_ in operands if type_ is not None and not isinstance(type_, TensorType)]
    if others:
        raise ShapeError(f"{op.name} takes tensors, found {', '.join(map(str, others))}") from error


def _refuse_odd_sizes(op: Operator, type_: Type | None) -> None:
    shape = type_.shape if isinstance(type_, TensorType) else None
    if shape is None:
        return
    for size in shape:
        if isinstance(size, int) and not 0 <= size <= MOST:
            what = "would be negative" if size < 0 else "would have more than 63 bits"
            raise ShapeError(f"{op} does not fit operands of these types: a size {what} in {type_}")
    if len(shape) > MOST_AXES:
        raise ShapeError(f"{op} does not fit operands of these types: {len(shape)} axes, at most {MOST_AXES} are known")


def infer_operands(
    op: Operator, operands: tuple[TensorType | None, ...], results: tuple[TensorType, ...], values: Values
) -> tuple[TensorType | None, ...]:
    """Return what the operands of `op` must be, given all types and the operands' known elements.

    Remembered as `infer_outputs` is. Raises ShapeError as the rule does.
    """
    key: object = (op, operands, results, values) if op.backward_reads else (op, operands, results)
    types = _operands.get(key)
    if types is None:
        try:
            if op.backward_reads:
                wanted = op.infer_inputs(operands, results, values=values)  # type: ignore[call-arg]
            else:
                wanted = op.infer_inputs(operands, results)
        except UNFIT as error:
            raise ShapeError(f"{op} does not fit operands and results of these types: {error}") from error
        for type_ in wanted:
            _refuse_odd_sizes(op, type_)
        types = tuple([operand if operand == type_ else type_ for operand, type_ in zip(operands, wanted, strict=True)])
        if len(_operands) >= MEMO_LIMIT:
            _operands.clear()
        _operands[key] = types
    return types


def infer_values(op: Operator, operands: tuple[Type | None, ...], values: Values) -> tuple[Known | None, ...] | None:
    """Return the known elements of the results, or None if there are none to know.

    An element that the result's dtype does not hold is not known: at run time it would wrap around or be rounded.
    Raises ShapeError where elements and operator do not fit each other.
    """
    if not op.propagates or (not any(values) and op.least_inputs and not op.knows_itself):
        return None
    try:
        elements = op.propagate(cast("tuple[TensorType | None, ...]", operands), values)
    except AttributeError as error:
        _refuse_other_types(op, operands, error)
        raise
    except UNFIT as error:
        raise ShapeError(f"{op} does not fit the elements that are known: {error}") from error
    if all(known is None for known in elements):
        return None
    types = infer_outputs(op, operands, values)
    elements = tuple([
        stored(known, type_.dtype if isinstance(type_, TensorType) else None)
        for known, type_ in zip(elements, types, strict=True)
    ])
    return elements if any(known is not None for known in elements) else None
