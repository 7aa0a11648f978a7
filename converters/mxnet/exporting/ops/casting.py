"""Cast, and the rounding and wrapping of numbers to dtypes that MXNet holds in wider ones."""

from __future__ import annotations

import math
from typing import NamedTuple

from graphir.converters.mxnet.exporting.context import AnyNode, Entry, ExportNode, dtype_name, row, table
from graphir.converters.mxnet.exporting.dtypes import WIDER, held_dtype
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ir
from graphir.ops.bitwise import BitCast
from graphir.types import DType


class FloatFormat(NamedTuple):
    """A narrow float: digits of its significand in bits, its least normal exponent, its largest number.

    `beyond` is what it makes of larger numbers if it does not saturate, None if it always does.
    """

    digits: int
    least_exponent: int
    largest: float
    beyond: float | None = math.nan


FORMATS = {
    DType.BFLOAT16: FloatFormat(8, -126, 255 * 2.0**120, math.inf),
    DType.FLOAT8E4M3FN: FloatFormat(4, -6, 448.0),
    DType.FLOAT8E4M3FNUZ: FloatFormat(4, -7, 240.0),
    DType.FLOAT8E5M2: FloatFormat(3, -14, 57344.0, math.inf),
    DType.FLOAT8E5M2FNUZ: FloatFormat(3, -15, 57344.0),
    DType.FLOAT4E2M1: FloatFormat(2, 0, 6.0, None),
}


def export_cast(node: ExportNode[ir.Cast]) -> None:
    """Cast; numbers that carry truths or positions may be of the wanted dtype already."""
    export, value, wanted = node.export, node.input(0), node.op.to
    entry = export.raw(value)
    stored, target = export.carried(value), held_dtype(wanted)
    if wanted is DType.BOOL:
        if value.dtype is DType.BOOL:
            export.bind(node.result, entry, stored)
        else:
            node.emit("_not_equal_scalar", node.entry(0), scalar=0.0, carried=node.dtype())
    elif needs_narrowing(value.dtype, wanted):
        node.bind(narrowed(node, node.entry(0), node.dtype(), wanted, saturate=node.op.saturate))
    elif stored is target and value.producer is not None:
        export.bind(node.result, entry)
    elif value.dtype is DType.BOOL or (stored is not value.dtype and not wanted.is_integer):
        node.emit("Cast", entry, dtype=dtype_name(target))
    else:
        node.emit("Cast", node.entry(0), dtype=dtype_name(target))


def export_bit_cast(node: ExportNode[BitCast]) -> None:
    """Cast between integers of one width, whose low bits stay what they are."""
    value, wanted = node.input(0), node.op.to
    if value.dtype is None or not (value.dtype.is_integer or value.dtype is DType.BOOL) or not wanted.is_integer:
        node.refuse("MXNet has no operator that reads the bits of floats as another dtype, or others as floats")
    entry = node.entry(0)
    if needs_narrowing(value.dtype, wanted):
        node.bind(narrowed(node, entry, node.dtype(), wanted, saturate=True))
    else:
        node.emit("Cast", entry, dtype=dtype_name(wanted))


def needs_narrowing(source: DType | None, wanted: DType) -> bool:
    """Return whether elements of `source` must be rounded or wrapped to be some of `wanted`, which MXNet holds
    wider."""
    if wanted not in WIDER or source is wanted or source is DType.BOOL:
        return False
    if source is None:
        return True
    if wanted.is_integer:
        if not source.is_integer:
            return True
        signed, wanted_signed = source.value.startswith("i"), wanted.value.startswith("i")
        room = wanted.bits - wanted_signed
        return (signed and not wanted_signed) or source.bits - signed > room
    return not (wanted is DType.BFLOAT16 and source in FORMATS)


def narrowed(node: AnyNode, entry: Entry, stored: DType, wanted: DType, *, saturate: bool) -> Entry:
    """Return the numbers, of dtype `stored`, as a conversion to `wanted` leaves them, in the dtype that holds those.

    Floats of fewer digits are rounded to the nearest, ties to even. The distance of neighbours is
    2 ** (exponent - digits + 1), and that of the least normal numbers below those.
    """
    if wanted.is_integer:
        return _wrapped(node, entry, stored, wanted)
    if wanted is DType.FLOAT8E8M0 and saturate:
        return _power_of_two(node, entry, stored)
    if wanted not in FORMATS:
        node.refuse(f"MXNet has no tensors of {wanted}, and no rounding to its numbers")
    form = FORMATS[wanted]
    wide = DType.FLOAT64 if stored in (DType.FLOAT64, DType.INT32, DType.INT64) else DType.FLOAT32
    if stored is not wide:
        entry = node.step("Cast", entry, dtype=dtype_name(wide))
    exponent = node.step("floor", node.step("log2", node.step("abs", entry)))
    greatest = math.floor(math.log2(form.largest))
    exponent = node.step("clip", exponent, suffix="exponent", a_min=float(form.least_exponent), a_max=float(greatest))
    power = node.step("_minus_scalar", exponent, scalar=float(form.digits - 1))
    spacing = node.step("_rpower_scalar", power, suffix="spacing", scalar=2.0)
    count = node.step("_npi_around", node.step("elemwise_div", entry, spacing), decimals=0)
    entry = node.step("elemwise_mul", count, spacing, suffix="rounded")
    if wanted is DType.BFLOAT16:  # whose range is that of float32, in which what goes beyond is infinite already
        return entry if wide is DType.FLOAT32 else node.step("Cast", entry, dtype="float32")
    if form.beyond is None or saturate:
        entry = node.step("clip", entry, suffix="limited", a_min=-form.largest, a_max=form.largest)
    else:
        beyond = node.step("_greater_scalar", node.step("abs", entry), scalar=form.largest)
        entry = node.step("where", beyond, node.step("_mul_scalar", entry, scalar=form.beyond), entry)
    if form.beyond is None:  # this format has no NaN
        entry = node.step("where", node.step("_equal", entry, entry), entry, node.step("zeros_like", entry))
    return entry if wide is DType.FLOAT32 else node.step("Cast", entry, dtype="float32")


def _wrapped(node: AnyNode, entry: Entry, stored: DType, wanted: DType) -> Entry:
    """Integers of fewer bits: the low bits of the number, with their sign."""
    middle = DType.INT32
    if wanted is DType.UINT32:
        if stored.is_float:
            entry = node.step("Cast", entry, dtype="int64")
        entry = node.step("Cast", entry, dtype="int32")
        stored, middle = DType.INT32, DType.INT64
    if stored is not middle:
        entry = node.step("Cast", entry, dtype=dtype_name(middle))
    count = float(2**wanted.bits)
    if wanted.value.startswith("u"):
        entry = node.step("_mod_scalar", entry, scalar=count)
    else:
        entry = node.step("_plus_scalar", entry, scalar=count / 2)
        entry = node.step("_mod_scalar", entry, scalar=count)
        entry = node.step("_minus_scalar", entry, scalar=count / 2)
    target = held_dtype(wanted)
    return entry if target is middle else node.step("Cast", entry, dtype=dtype_name(target))


def _power_of_two(node: AnyNode, entry: Entry, stored: DType) -> Entry:
    """float8e8m0: the next power of two from 2**-127 to 2**127, NaN for negative numbers. It is the one at the rounded
    down logarithm, or the next if that one is less."""
    wide = stored if stored is DType.FLOAT64 else DType.FLOAT32
    if stored is not wide:
        entry = node.step("Cast", entry, dtype=dtype_name(wide))
    exponent = node.step("floor", node.step("log2", entry))
    exponent = node.step("clip", exponent, suffix="exponent", a_min=-127.0, a_max=127.0)
    power = node.step("_rpower_scalar", exponent, suffix="power", scalar=2.0)
    double = node.step("_minimum_scalar", node.step("_mul_scalar", power, scalar=2.0), scalar=2.0**127)
    result = node.step("where", node.step("_lesser", power, entry), double, power)
    return result if wide is DType.FLOAT32 else node.step("Cast", result, dtype="float32")


def narrow_results(node: AnyNode) -> None:
    """Round or wrap the results of arithmetic that MXNet did in a wider dtype, as the narrow one would have."""
    for value in node.node.outputs:
        if value.dtype in WIDER and node.export.is_bound(value):
            _narrow(node, value)


def _narrow(node: AnyNode, value: Value) -> None:
    assert value.dtype is not None
    how = "wrapped" if value.dtype.is_integer else "rounded"
    node.decide(
        DecisionKind.DTYPE, f"computed in {held_dtype(value.dtype)} and {how} to {value.dtype}, which MXNet lacks"
    )
    entry = narrowed(node, node.export.raw(value), held_dtype(value.dtype), value.dtype, saturate=True)
    node.bind(entry, value.index)


EXPORTS = table(row(ir.Cast, export_cast), row(BitCast, export_bit_cast))
