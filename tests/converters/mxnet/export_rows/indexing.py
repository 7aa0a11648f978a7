"""Lookups by index, scattered elements and running sums written for MXNet."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.converters.mxnet.exporting import row
from tests.typed import untyped

RANDOM = np.random.default_rng(13)
DTYPES = ("float16", "float64", "int8", "uint8", "int32", "int64")


def normal(*shape: int, dtype: str = "float32") -> np.ndarray[Any, Any]:
    """Numbers of a normal distribution; integers from 0 to 99."""
    if np.dtype(dtype).kind in "iu":
        return RANDOM.integers(0, 100, shape).astype(dtype)
    return RANDOM.standard_normal(shape).astype(dtype)


def indices(low: int, high: int, *shape: int, dtype: str = "int64") -> np.ndarray[Any, Any]:
    """Integers from `low` to below `high`."""
    return RANDOM.integers(low, high, shape).astype(dtype)


def vectors(*sizes: int, count: tuple[int, ...], negative: bool = True) -> np.ndarray[Any, Any]:
    """Index vectors into the first axes, of these sizes, of something."""
    columns = [RANDOM.integers(-size if negative else 0, size, count) for size in sizes]
    return np.stack(columns, -1).astype(np.int64)


def apart(*sizes: int, count: int) -> np.ndarray[Any, Any]:
    """Different index vectors, some of them counted from the end."""
    places = RANDOM.permutation(int(np.prod(sizes)))[:count]
    found = np.stack(np.unravel_index(places, sizes), -1)
    return np.where(RANDOM.random(found.shape) < 0.5, found, found - np.array(sizes)).astype(np.int64)


GATHER = (
    row("vector", "Gather", normal(5, 4), indices(-5, 5, 3), axis=0, wanted=("take",)),
    row("matrix of indices", "Gather", normal(5, 4, 3), indices(-4, 4, 2, 3), axis=1, wanted=("take",)),
    row("last axis", "Gather", normal(5, 4, 3), indices(-3, 3, 2, dtype="int32"), axis=-1),
    row("one constant", "Gather", normal(5, 4), np.int64(-2), axis=1, wanted=("slice", "squeeze")),
    row("last constant", "Gather", normal(5, 4), np.int64(-1), axis=0),
    row("one constant of six axes", "Gather", normal(2, 3, 2, 2, 1, 2), np.int64(-1), axis=1,
        wanted=("slice_axis", "squeeze")),
    row("of a vector", "Gather", normal(5), indices(-5, 5, 2, 2)),
    row("constant data", "Gather", normal(5, 4), indices(-5, 5, 3), constants=(0,)),
    *(row(f"{dtype}", "Gather", normal(5, 4, dtype=dtype), indices(-4, 4, 2), axis=1) for dtype in DTYPES),
)
GATHER_ND = (
    row("rows", "GatherND", normal(3, 4, 5), vectors(3, count=(2,))),
    row("elements", "GatherND", normal(3, 4), vectors(3, 4, count=(2, 3))),
    row("part", "GatherND", normal(3, 4, 5), vectors(3, 4, count=(2, 3))),
    row("one vector", "GatherND", normal(3, 4, 5), vectors(3, 4, count=())),
    row("batch", "GatherND", normal(2, 4, 5), vectors(4, count=(2,)), batch_dims=1),
    row("batch, two axes", "GatherND", normal(2, 4, 5), vectors(4, 5, count=(2, 3)), batch_dims=1),
    row("two batch axes", "GatherND", normal(2, 3, 5, 4), vectors(5, count=(2, 3, 2)), batch_dims=2),
    *(row(f"{dtype}", "GatherND", normal(3, 4, dtype=dtype), vectors(3, 4, count=(2,))) for dtype in DTYPES),
)
GATHER_ELEMENTS = (
    row("axis 0", "GatherElements", normal(3, 4), indices(-3, 3, 2, 4)),
    row("axis 1", "GatherElements", normal(3, 4), indices(-4, 4, 3, 6), axis=1),
    row("fewer rows", "GatherElements", normal(3, 4, 5), indices(-5, 5, 2, 3, 6), axis=-1),
    row("one a row", "GatherElements", normal(3, 4), indices(-4, 4, 3, 1), axis=1, wanted=("pick",)),
    row("one in the middle", "GatherElements", normal(3, 4, 2), indices(0, 4, 3, 1, 2), axis=1, wanted=("pick",)),
    row("vector", "GatherElements", normal(6), indices(-6, 6, 4, dtype="int32"), wanted=("take",)),
    row("int32 indices", "GatherElements", normal(2, 3, 4), indices(0, 3, 2, 2, 4, dtype="int32"), axis=1),
    *(row(f"{dtype}", "GatherElements", normal(3, 4, dtype=dtype), indices(-3, 3, 2, 4)) for dtype in DTYPES),
)
ONE_HOT = tuple(
    row(name, "OneHot", array, np.int64(5), np.array(values), constants=constants, **untyped(attributes))
    for name, array, values, constants, attributes in (
        ("int64", indices(-5, 5, 3), np.array([0, 1], np.float32), (1, 2), {}),
        ("uint8", indices(0, 5, 3, dtype="uint8"), np.array([0, 1], np.float32), (1, 2), {}),
        ("axis 0", indices(-5, 5, 3, 2), np.array([-2, 7], np.int32), (1, 2), {"axis": 0}),
        ("axis 1", indices(-7, 8, 3, 2, dtype="int32"), np.array([0.5, 2.5], np.float64), (1, 2), {"axis": 1}),
        ("axis -2", indices(-5, 5, 3, 2), np.array([1, 0], np.float16), (1, 2), {"axis": -2}),
        ("float indices", indices(-5, 5, 3).astype("float32"), np.array([0, 1], np.float32), (1, 2), {}),
        ("given values", indices(-5, 5, 3, 2), np.array([-np.inf, 3], np.float32), (1,), {"axis": 1}),
        ("large values", indices(-5, 5, 3), np.array([2**60 + 1, -(2**55) - 1], np.int64), (1, 2), {}),
        ("vector of depth", indices(-5, 5, 3), np.array([0, 1], np.int64), (1, 2), {}),
        ("int8", indices(-5, 5, 3, dtype="int64"), np.array([3, -4], np.int64), (1, 2), {}),
    )
)
CONDITION = np.array([True, False, True, True])
CHOSEN = (
    row("axis", "Compress", normal(3, 4, 2), CONDITION, constants=(1,), axis=1),
    row("short", "Compress", normal(3, 6), CONDITION, constants=(1,), axis=-1),
    row("long", "Compress", normal(3, 2), CONDITION, constants=(1,), axis=1),
    row("flat", "Compress", normal(3, 4), CONDITION, constants=(1,)),
    row("int8", "Compress", normal(3, 4, dtype="int8"), CONDITION, constants=(1,), axis=1),
)
SCATTER_ND = tuple(
    row(f"{name} {reduction}", "ScatterND", data, chosen, updates, reduction=reduction)
    for name, data, chosen, updates in (
        ("elements", normal(4, 5), apart(4, 5, count=6), normal(6)),
        ("rows", normal(4, 5), apart(4, count=3), normal(3, 5)),
        ("inner rows", normal(3, 4, 2), apart(3, 4, count=6).reshape(2, 3, 2), normal(2, 3, 2)),
        ("vector", normal(7), apart(7, count=3), normal(3)),
        ("one", normal(3, 4), apart(3, count=1).reshape(1), normal(4)),
    )
    for reduction in ("none", "add", "mul", "max", "min")
)
REPEATED = (
    *(row(f"repeated {reduction}", "ScatterND", normal(4, 3), vectors(4, count=(9,)), normal(9, 3), reduction=reduction)
      for reduction in ("add", "mul", "max", "min")),
    *(row(f"{dtype} {reduction}", "ScatterND", normal(4, 3, dtype=dtype) % 3, vectors(4, count=(5,)),
          normal(5, 3, dtype=dtype) % 3, reduction=reduction)
      for dtype in ("float64", "int32", "int64", "uint8", "int8") for reduction in ("add", "mul", "max", "min")),
    *(row(f"{dtype}", "ScatterND", normal(4, 3, dtype=dtype), apart(4, count=2), normal(2, 3, dtype=dtype))
      for dtype in DTYPES),
    row("constants", "ScatterND", normal(4, 3), apart(4, count=2), normal(2, 3), constants=(1, 2)),
    row("zeros", "ScatterND", np.zeros((4, 3), np.float32), apart(4, count=2), normal(2, 3), constants=(0,)),
)  # fmt: skip


def columns(high: int, *shape: int, axis: int) -> np.ndarray[Any, Any]:
    """Indices along an axis, each once in its line, some counted from the end."""
    found = np.argsort(RANDOM.random([high if place == axis else size for place, size in enumerate(shape)]), axis)
    found = np.take(found, range(shape[axis]), axis)
    return np.where(RANDOM.random(shape) < 0.5, found, found - high).astype(np.int64)


SCATTER_ELEMENTS = tuple(
    row(f"{name} {reduction}", "ScatterElements", data, chosen, updates, axis=axis, reduction=reduction)
    for name, data, chosen, updates, axis in (
        ("axis 0", normal(5, 4), columns(5, 3, 4, axis=0), normal(3, 4), 0),
        ("axis -1", normal(5, 4), columns(4, 2, 3, axis=1), normal(2, 3), -1),
        ("middle", normal(2, 5, 3), columns(5, 2, 4, 2, axis=1), normal(2, 4, 2), 1),
        ("vector", normal(6), columns(6, 3, axis=0), normal(3), 0),
    )
    for reduction in ("none", "add", "mul", "max", "min")
)
REPEATED_ELEMENTS = (
    *(row(f"repeated {reduction}", "ScatterElements", normal(4, 5), indices(-5, 5, 4, 7), normal(4, 7), axis=1,
          reduction=reduction) for reduction in ("add", "mul", "max", "min")),
    *(row(f"{dtype}", "ScatterElements", normal(4, 5, dtype=dtype), columns(5, 4, 3, axis=1), normal(4, 3, dtype=dtype),
          axis=1) for dtype in DTYPES),
    *(row(f"{dtype} add", "ScatterElements", normal(4, 5, dtype=dtype), indices(-5, 5, 4, 7, dtype="int32"),
          normal(4, 7, dtype=dtype), axis=1, reduction="add") for dtype in ("float64", "int32", "int64")),
)  # fmt: skip
RUNNING = tuple(
    row(f"{shape} {axis} {flags}", "CumSum", normal(*shape), np.array(axis, np.int64), **untyped(flags))
    for shape, axis in (((5,), 0), ((3, 4), 1), ((3, 4), -2), ((2, 3, 4), 1), ((3, 1), 1))
    for flags in ({}, {"reverse": 1}, {"exclusive": 1}, {"exclusive": 1, "reverse": 1})
) + tuple(
    row(f"{dtype}", "CumSum", normal(3, 4, dtype=dtype), np.int32(1), exclusive=1)
    for dtype in ("float64", "int32", "int64")
)
PRODUCTS = (
    *(row(f"{shape} {axis} {flags}", "CumProd", normal(*shape), np.int64(axis), opset=26, **untyped(flags))
      for shape, axis in (((5,), 0), ((3, 7), 1), ((2, 4, 3), -2), ((3, 1), 1))
      for flags in ({}, {"reverse": 1}, {"exclusive": 1}, {"exclusive": 1, "reverse": 1})),
    *(row(f"{dtype}", "CumProd", normal(3, 4, dtype=dtype) % 9, np.int32(1), opset=26)
      for dtype in ("float64", "int32", "int64")),
)  # fmt: skip
TRUTHS = RANDOM.random((4, 5)) < 0.5
BOOLS = (
    row("truths", "Gather", TRUTHS, indices(-4, 4, 3)),
    row("constant truths", "Gather", TRUTHS, indices(-4, 4, 3), constants=(0,)),
    row("one of the truths", "Gather", TRUTHS, np.int64(2), axis=1),
    row("truths", "GatherND", TRUTHS, vectors(4, 5, count=(2, 3))),
    row("truths", "GatherElements", TRUTHS, indices(-5, 5, 4, 2), axis=1),
    row("one truth a row", "GatherElements", TRUTHS, indices(-5, 5, 4, 1), axis=1),
    row("truths", "ScatterND", TRUTHS, apart(4, count=2), ~TRUTHS[:2]),
    row("truths", "ScatterElements", TRUTHS, columns(5, 4, 3, axis=1), ~TRUTHS[:, :3], axis=1),
    row("constant truths", "ScatterElements", TRUTHS, columns(5, 4, 3, axis=1), ~TRUTHS[:, :3], axis=1, constants=(2,)),
    row("truths", "Compress", TRUTHS, CONDITION, constants=(1,), axis=0),
)
CONSTANTS = (
    row("NonZero", "NonZero", np.array([[1, 0], [2, 3]], np.float32), constants=(0,)),
    *(row(f"{flags}", "Unique", np.array([2, 1, 1, 3, 4, 3], np.float32), constants=(0,), results=4, **untyped(flags))
      for flags in ({}, {"sorted": 0}, {"axis": 0})),
    row("rows", "Unique", np.array([[2, 1], [1, 3], [2, 1]], np.float32), constants=(0,), results=4, axis=0, sorted=0),
)  # fmt: skip
ROWS = (
    *GATHER, *GATHER_ND, *GATHER_ELEMENTS, *ONE_HOT, *CHOSEN, *SCATTER_ND, *REPEATED, *SCATTER_ELEMENTS,
    *REPEATED_ELEMENTS, *RUNNING, *PRODUCTS, *CONSTANTS, *BOOLS,
)  # fmt: skip
REFUSED = (
    (row("NonZero", "NonZero", normal(3)), "depends on its input's elements"),
    (row("Unique", "Unique", normal(3), results=4), "depends on its input's elements"),
    (row("Compress", "Compress", normal(4), CONDITION), "its condition is computed"),
    (row("depth", "OneHot", indices(0, 3, 4), np.array([3]), np.array([0, 1])), "MXNet wants these numbers"),
    (row("large", "ScatterND", normal(40000, 2), vectors(40000, count=(9000,)), normal(9000, 2), reduction="max"),
     "comparing each index with all places"),
)  # fmt: skip
BATCHES = dict.fromkeys(("CumSum", "Gather", "GatherElements", "GatherND", "OneHot"), ("x0",))
