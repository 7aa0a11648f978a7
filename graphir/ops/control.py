"""Operators that run graphs: the bodies are the node's `subgraphs`, which may use the values around the node.

What a body gives is not seen by the rules here, which know operands only: `inference.control` infers it.
"""

from __future__ import annotations

from graphir.errors import ShapeError
from graphir.node import Value
from graphir.types import (
    ANYTHING,
    UNKNOWN,
    DType,
    OptionalType,
    SequenceType,
    Shape,
    SparseTensorType,
    TensorType,
    Type,
)

from .base import Operator, operator
from .dtypes import BOOL, INT64
from .traits import Rounding


class _Control(Operator):
    """What the operators with bodies share: a number of results that the node fixes."""

    rounding = Rounding.INSIDE
    results: int = 1

    @property
    def output_count(self) -> int:
        """How many results the bodies give."""
        return self.results

    def infer(self, *operands: Type | None) -> tuple[Type, ...]:
        return (ANYTHING,) * self.results


@operator
class If(_Control):
    """The results of the first subgraph where `cond`, a boolean of one element, is true, else those of the second.

    Neither subgraph has inputs. Source: ONNX If-25.
    """

    inputs = ("cond",)
    takes = (BOOL,)
    results: int = 1

    def infer(self, *operands: Type | None) -> tuple[Type, ...]:
        condition = operands[0]
        if isinstance(condition, TensorType) and condition.dtype not in (None, DType.BOOL):
            raise ShapeError(f"the condition is {condition.dtype}, expected bool")
        return (ANYTHING,) * self.results


@operator
class Loop(_Control):
    """The subgraph run up to `M` times (absent: without limit) while `cond` (absent: always) holds.

    The subgraph takes the iteration's number, the condition and the carried values, and gives the next condition, the
    next carried values and any number of further values. Results: the last carried values, then each further value of
    all iterations, stacked along a new first axis. Source: ONNX Loop-25.
    """

    inputs = ("M?", "cond?", "v_initial*?")
    takes = (INT64, BOOL)
    results: int = 1


@operator
class Scan(_Control):
    """The subgraph run for each slice of the last `num_scan_inputs` operands; the operands before those are carried.

    The subgraph takes the carried values and a slice of each scanned operand, and gives the next carried values and a
    slice of each scanned result. Axes are those that are sliced and stacked (empty: 0), directions 1 run backwards
    (empty: forwards). Results: the last carried values, then the scanned results. Source: ONNX Scan-25.
    """

    inputs = ("initial_state_and_scan_inputs*",)
    num_scan_inputs: int
    results: int = 1
    scan_input_axes: tuple[int, ...] = ()
    scan_input_directions: tuple[int, ...] = ()
    scan_output_axes: tuple[int, ...] = ()
    scan_output_directions: tuple[int, ...] = ()


def declare(value: Value, type_: Type) -> None:
    """Say what a value's type is where no rule tells."""
    value.graph.retype(value, type_, type_)


def common_type(left: Type, right: Type) -> Type:
    """Return the most precise type that both types are.

    >>> str(common_type(TensorType(DType.INT64, (2, 3)), TensorType(DType.INT64, (2, 4))))
    'int64[2, ?]'
    """
    if left == right:
        return left
    if isinstance(left, TensorType) and isinstance(right, TensorType):
        return TensorType(left.dtype if left.dtype is right.dtype else None, _common_shape(left.shape, right.shape))
    if isinstance(left, SparseTensorType) and isinstance(right, SparseTensorType):
        return SparseTensorType(
            left.dtype if left.dtype is right.dtype else None, _common_shape(left.shape, right.shape)
        )
    if isinstance(left, SequenceType) and isinstance(right, SequenceType):
        return SequenceType(common_type(left.element, right.element))
    if isinstance(left, OptionalType) and isinstance(right, OptionalType):
        return OptionalType(common_type(left.element, right.element))
    return ANYTHING


def _common_shape(left: Shape | None, right: Shape | None) -> Shape | None:
    if left is None or right is None or len(left) != len(right):
        return None
    return tuple([dim if dim == other else UNKNOWN for dim, other in zip(left, right, strict=True)])


OPERATORS = (If, Loop, Scan)
