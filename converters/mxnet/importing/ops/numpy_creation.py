"""Operators of MXNet's NumPy-style interface that make tensors out of numbers; sizes of 0 are sizes."""

from __future__ import annotations

import math

import numpy as np

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops.creation import as_constant, dtype_of, filled, in_steps
from graphir.converters.mxnet.schema.values import parse_int
from graphir.graph import Value


def optional_integer(node: ImportNode, name: str) -> int | None:
    """An attribute that MXNet's registry tells no kind of: an integer or None. Refuses other texts."""
    text = node.attrs[name]
    if text is None or text.strip() == "None":
        return None
    try:
        return parse_int(text)
    except ValueError as error:
        node.refuse(f"{name} {text!r}: {error}")


def import_arange(node: ImportNode) -> Value:
    """start, start + step, ... before stop, possibly nothing; without stop from 0 to start."""
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


IMPORTS: dict[str, ImportFunction] = {
    "_npi_arange": import_arange,
    "_npi_eye": import_eye,
    "_npi_identity": import_identity,
    "_npi_ones": filled(1.0),
    "_npi_zeros": filled(0.0),
}

__all__ = ["IMPORTS"]
