"""NumPy-style operators of a tensor and the attribute `scalar`: the classic ones, but for division and comparisons."""

from __future__ import annotations

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops import scalars
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ir
from graphir.ops.base import Operator
from graphir.types import DType


def dividing(*, reverse: bool = False) -> ImportFunction:
    """data / scalar, or scalar / data with `reverse`; integers and bool become float32, as the scalar does."""

    def import_dividing(node: ImportNode) -> Value:
        data = node.input(0)
        dtype = data.dtype or DType.FLOAT32
        if not dtype.is_float:
            node.decide(DecisionKind.SCALAR, f"{dtype} data became float32, as MXNet divides it")
            data = node.cast(data, DType.FLOAT32)
        scalar = node.scalar_like(data, float(node.attrs["scalar"]))
        return node.emit(ir.Div(), scalar, data) if reverse else node.emit(ir.Div(), data, scalar)

    return import_dividing


def comparison(op: Operator, *, negate: bool = False) -> ImportFunction:
    """A comparison with the scalar in the dtype of the computation; the result is bool."""

    def import_comparison(node: ImportNode) -> Value:
        if node.input(0).dtype is DType.BOOL:
            data, scalar = _truths(node)
        else:
            data, scalar = scalars.operands(node)
        if not negate:
            return node.emit(op, data, scalar)
        return node.emit(ir.Not(), node.step(op, data, scalar))

    return import_comparison


def _truths(node: ImportNode) -> tuple[Value, Value]:
    """Bool data is compared with whether the scalar is not 0, both as numbers."""
    scalar = float(node.attrs["scalar"])
    if scalar not in (0.0, 1.0):
        node.decide(DecisionKind.SCALAR, f"the scalar {scalar:.9g} became true for bool data, as MXNet does")
    data = node.cast(node.input(0), DType.INT32)
    return data, node.constant(int(bool(scalar)), DType.INT32)


CLASSIC = {
    "_npi_add_scalar": "_plus_scalar",
    "_npi_mod_scalar": "_mod_scalar",
    "_npi_multiply_scalar": "_mul_scalar",
    "_npi_power_scalar": "_power_scalar",
    "_npi_rmod_scalar": "_rmod_scalar",
    "_npi_rpower_scalar": "_rpower_scalar",
    "_npi_rsubtract_scalar": "_rminus_scalar",
    "_npi_subtract_scalar": "_minus_scalar",
}

IMPORTS: dict[str, ImportFunction] = {
    **{name: scalars.IMPORTS[classic] for name, classic in CLASSIC.items()},
    "_npi_equal_scalar": comparison(ir.Equal()),
    "_npi_greater_equal_scalar": comparison(ir.GreaterOrEqual()),
    "_npi_greater_scalar": comparison(ir.Greater()),
    "_npi_less_equal_scalar": comparison(ir.LessOrEqual()),
    "_npi_less_scalar": comparison(ir.Less()),
    "_npi_not_equal_scalar": comparison(ir.Equal(), negate=True),
    "_npi_rtrue_divide_scalar": dividing(reverse=True),
    "_npi_true_divide_scalar": dividing(),
}
