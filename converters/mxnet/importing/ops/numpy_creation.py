"""Operators of MXNet's NumPy-style interface that make tensors out of numbers, and those of diagonals; sizes of 0 are
sizes."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops.creation import as_constant, dtype_of, filled, in_steps
from graphir.converters.mxnet.importing.ops.shape import diagonal, diagonal_matrix
from graphir.converters.mxnet.importing.sizes import axis_size, static_size
from graphir.converters.mxnet.schema.values import parse_int
from graphir.graph import Value
from graphir.ops.creation import Range
from graphir.ops.shape import Expand, Reshape
from graphir.types import DType


def optional_integer(node: ImportNode, name: str) -> int | None:
    """Return an attribute that MXNet's registry tells no kind of: an integer or None. Refuses other texts."""
    text = node.attrs[name]
    if text is None or text.strip() == "None":
        return None
    try:
        return parse_int(text)
    except ValueError as error:
        node.refuse(f"{name} {text!r}: {error}")


def import_arange(node: ImportNode) -> Value:
    """Return start, start + step, ... below stop; the result may be empty. Without stop, count from 0 to start."""
    attrs = node.attrs
    start, stop = (0.0, attrs["start"]) if attrs["stop"] is None else (attrs["start"], attrs["stop"])
    step = attrs["step"]
    if step == 0 or attrs["repeat"] != 1 or not all(math.isfinite(number) for number in (start, stop, step)):
        node.refuse(
            f"from {start} to {stop} in steps of {step}, each {attrs['repeat']} times; MXNet does not take it either"
        )
    ratio = (stop - start) / step
    if not math.isfinite(ratio):
        node.refuse(f"a range from {start} to {stop} in steps of {step}")
    count = max(math.ceil(ratio), 0)
    node.charge(count, "its range")
    return as_constant(node, in_steps(node, start, step, np.arange(count), dtype_of(node)))


def import_eye(node: ImportNode) -> Value:
    """N by M (N without it) with ones on diagonal k."""
    rows, stated, k = node.attrs["N"], optional_integer(node, "M"), node.attrs["k"]
    columns = rows if stated is None else stated
    if min(rows, columns) < 0:
        node.refuse(f"N {rows} and M {columns}, expected 0 or more")
    node.charge(rows * columns, "its matrix")
    return as_constant(node, np.eye(rows, columns, k, dtype_of(node).numpy()))


def import_identity(node: ImportNode) -> Value:
    """Ones on every (n + 1)-th of the first n^2 elements of `shape`, n its first size: an identity matrix."""
    shape = node.attrs["shape"]
    least = 0 if node.np_shape else 1
    if not shape or min(shape) < least:
        node.refuse(f"shape {shape}, expected sizes of {least} or more")
    node.charge(math.prod(shape), "its matrix")
    flat = np.zeros(math.prod(shape), dtype_of(node).numpy())
    flat[: shape[0] ** 2 : shape[0] + 1] = 1
    return as_constant(node, flat.reshape(shape))


def import_logspace(node: ImportNode) -> Value:
    """Return the powers of `base` with `num` exponents from start to stop, stop included by default."""
    attrs = node.attrs
    if attrs["num"] < 0:
        node.refuse(f"num {attrs['num']}, expected 0 or more")
    node.charge(attrs["num"], "its range")
    with np.errstate(all="ignore"):
        exponents = np.linspace(attrs["start"], attrs["stop"], attrs["num"], endpoint=attrs["endpoint"])
        return as_constant(node, np.power(attrs["base"], exponents).astype(dtype_of(node).numpy()))


def import_indices(node: ImportNode) -> Value:
    """Return the places of a grid with these dimensions: (axes, *dimensions)."""
    sizes = node.attrs["dimensions"]
    if min(sizes, default=0) < 0:
        node.refuse(f"dimensions {sizes}, expected 0 or more")
    node.charge(len(sizes) * math.prod(sizes), "its indices")
    return as_constant(node, np.indices(sizes).reshape(len(sizes), *sizes).astype(dtype_of(node).numpy()))


def window(*weights: float) -> ImportFunction:
    """M numbers of a window: the cosines of 0, 1 and 2 turns with these weights, of alternating signs.

    MXNet computes the angle in single precision, and with weights of the result's dtype: 0 for integers.
    """

    def import_window(node: ImportNode) -> Value:
        count = optional_integer(node, "M")
        if count is None:
            node.refuse("M is not given")
        node.charge(max(count, 0), "its window")
        dtype = dtype_of(node).numpy()
        if count <= 1:
            return as_constant(node, np.ones(max(count, 0), dtype))
        turn = np.float32(2 * np.float32(np.pi)) * np.arange(count, dtype=np.float32)
        stored = np.array(weights).astype(dtype)
        result = np.full(count, stored[0])
        for turns in range(1, len(weights)):
            angle = turn * np.float32(turns) / np.float32(count - 1)
            part = (stored[turns] * np.cos(angle.astype(np.float64) if dtype == np.float64 else angle)).astype(dtype)
            result = result - part if turns % 2 else result + part
        return as_constant(node, result.astype(dtype))

    return import_window


def import_diag_indices_from(node: ImportNode) -> Value:
    """Return the places of the main diagonal of a tensor whose sizes are all equal: (axes, size)."""
    data = node.input(0)
    rank = node.rank(data)
    if rank < 2:
        node.refuse(f"{data.type}, expected two axes or more")
    known = {size for axis in range(rank) if (size := static_size(data, axis)) is not None}
    if len(known) > 1:
        node.refuse(f"{data.type}, expected equal sizes")
    if known:
        (size,) = known
        node.charge(rank * size, "its indices")
        return as_constant(node, np.tile(np.arange(size), (rank, 1)))
    zero, one = node.constant(0, DType.INT64), node.constant(1, DType.INT64)
    indices = node.step(Range(), zero, axis_size(node, data, 0), one)
    return node.emit(Expand(), indices, node.vector([rank, 1]))


def import_diag(node: ImportNode) -> Value:
    """Diagonal k of a matrix, or a matrix with a vector on it."""
    data, k = node.input(0), node.attrs["k"]
    rank = node.rank(data)
    if rank == 1:
        return diagonal_matrix(node, data, k)
    if rank != 2:
        node.refuse(f"{data.type}, expected one axis or two")
    return _diagonal(node, data, k, (0, 1))


def import_diagonal(node: ImportNode) -> Value:
    """Diagonal `offset` of two axes, last in the result; it may be empty."""
    data = node.input(0)
    rank = node.rank(data)
    axes = node.axis(node.attrs["axis1"], rank), node.axis(node.attrs["axis2"], rank)
    if axes[0] == axes[1]:
        node.refuse(f"axis1 and axis2 are both axis {axes[0]}")
    return _diagonal(node, data, node.attrs["offset"], axes)


def _diagonal(node: ImportNode, data: Value, k: int, axes: tuple[int, int]) -> Value:
    rows, columns = node.sizes(data, axes)
    if min(rows + min(k, 0), columns - max(k, 0)) > 0:
        return diagonal(node, data, k, axes)
    rest = node.sizes(data, [axis for axis in range(node.rank(data)) if axis not in axes])
    return as_constant(node, np.zeros((*rest, 0), (data.dtype or DType.FLOAT32).numpy()))


def import_diagflat(node: ImportNode) -> Value:
    """Return a matrix with the elements, in their order, on diagonal k."""
    data = node.input(0)
    if node.rank(data) == 0:
        node.refuse("a tensor without axes, which MXNet does not take")
    flat = data if data.rank == 1 else node.step(Reshape(), data, node.vector([-1]), suffix="flat")
    return diagonal_matrix(node, flat, node.attrs["k"])


IMPORTS: dict[str, ImportFunction] = {
    "_np_diag": import_diag,
    "_np_diagflat": import_diagflat,
    "_np_diagonal": import_diagonal,
    "_npi_arange": import_arange,
    "_npi_blackman": window(0.42, 0.5, 0.08),
    "_npi_diag_indices_from": import_diag_indices_from,
    "_npi_eye": import_eye,
    "_npi_hamming": window(0.54, 0.46),
    "_npi_hanning": window(0.5, 0.5),
    "_npi_identity": import_identity,
    "_npi_indices": import_indices,
    "_npi_logspace": import_logspace,
    "_npi_ones": partial(filled, 1.0),
    "_npi_zeros": partial(filled, 0.0),
}
