"""Reductions, positions of extremes and the largest elements written for MXNet."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.converters.mxnet.exporting import row
from tests.typed import untyped

RANDOM = np.random.default_rng(11)
KINDS = ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare")


def positive(*shape: int, dtype: str = "float32") -> np.ndarray[Any, Any]:
    """Numbers from 1 to 3; integers from 1 to 5."""
    if np.dtype(dtype).kind in "iu":
        return RANDOM.integers(1, 6, shape).astype(dtype)
    return RANDOM.uniform(1, 3, shape).astype(dtype)


def ties(*shape: int, dtype: str = "float32", high: int = 4) -> np.ndarray[Any, Any]:
    """Few different numbers, so that many are equal."""
    return RANDOM.integers(0, high, shape).astype(dtype)


def vector(*numbers: int) -> np.ndarray[Any, Any]:
    """An int64 vector."""
    return np.array(numbers, np.int64)


DATA = positive(2, 3, 4, 3)
SHAPES: tuple[tuple[str, tuple[int, ...] | None, dict[str, int]], ...] = (
    ("axis", (1,), {}), ("last, dropped", (-1,), {"keepdims": 0}), ("axes", (0, 2), {}),
    ("three axes", (0, -1, 1), {"keepdims": 0}), ("all stated", (0, 1, 2, 3), {"keepdims": 0}), ("all", None, {}),
    ("all dropped", None, {"keepdims": 0}), ("empty", (), {}), ("empty, nothing", (), {"noop_with_empty_axes": 1}),
    ("absent, nothing", None, {"noop_with_empty_axes": 1}),
)  # fmt: skip
REDUCTIONS = tuple(
    row(name, f"Reduce{kind}", DATA, None if axes is None else vector(*axes), constants=(1,), **untyped(attributes))
    for kind in KINDS
    for name, axes, attributes in SHAPES
    if not (kind.startswith(("L", "SumSq")) and "nothing" in name)
)
IDENTITY = tuple(
    row("nothing to reduce", f"Reduce{kind}", DATA, vector(), constants=(1,), noop_with_empty_axes=1, wanted=wanted)
    for kind, wanted in (("Sum", ("_copy",)), ("Mean", ("_copy",)), ("Max", ("_copy",)), ("Prod", ("_copy",)))
)
DTYPES = (
    *(row(f"{dtype}", f"Reduce{kind}", positive(2, 3, 4, dtype=dtype), vector(1, 2), constants=(1,), opset=18,
          tolerance=8e-3 if dtype == "float16" else 0.0)
      for kind in KINDS for dtype in ("float16", "float64", "int32", "int64")
      if not (kind.startswith("LogSum") and dtype.startswith("int"))),
    *(row(f"{dtype}", f"Reduce{kind}", ties(2, 3, 4, dtype=dtype, high=90), vector(-1), constants=(1,))
      for kind in ("Max", "Min") for dtype in ("int8", "uint8")),
)  # fmt: skip
BEYOND = tuple(
    row(f"beyond float32 {dtype}", f"Reduce{kind}", np.array([[4097, 3, -7]], dtype), vector(1), constants=(1,))
    for kind in ("SumSquare", "L1")
    for dtype in ("int32", "int64")
)
INFINITE = (
    row("infinite", "ReduceLogSumExp", np.array([[-np.inf, -np.inf], [np.inf, 1], [-np.inf, 2]], np.float32),
        vector(1), constants=(1,), keepdims=0),
    row("large", "ReduceLogSumExp", np.array([[800, 801.5], [-900, -900]], np.float32), vector(1), constants=(1,)),
)  # fmt: skip
POSITIONS = (
    *(row(f"{shape} {attributes}", kind, ties(*shape), **untyped(attributes))
      for kind in ("ArgMax", "ArgMin")
      for shape, attributes in (
          ((3, 5), {}), ((3, 5), {"axis": 1}), ((3, 5), {"axis": -1, "keepdims": 0}), ((7,), {"keepdims": 0}),
          ((7,), {}),
          ((2, 9, 3), {"axis": 1, "select_last_index": 1}),
          ((2, 9), {"axis": 1, "select_last_index": 1, "keepdims": 0}),
          ((2, 3, 4, 5), {"axis": -2, "select_last_index": 1}))),
    *(row(f"{dtype}", "ArgMax", ties(3, 5, dtype=dtype), axis=1)
      for dtype in ("float64", "float16", "int32", "int8", "uint8")),
    row("int8, far", "ArgMax", np.eye(1, 300, 299, np.int8), axis=1),
    row("uint8, far", "ArgMin", 1 - np.eye(1, 300, 299, dtype=np.uint8), axis=1),
    row("float16, far", "ArgMax", np.eye(1, 2100, 2099, dtype=np.float16), axis=1),
)  # fmt: skip
TOP = (
    *(row(f"{shape} {k} {attrs}", "TopK", ties(*shape), vector(k), constants=(1,), results=2, **untyped(attrs))
      for shape, k, attrs in (
          ((3, 5), 2, {}), ((3, 5), 5, {}), ((3, 5), 1, {"axis": 0}), ((3, 5), 2, {"largest": 0, "axis": 0}),
          ((2, 9, 3), 4, {"axis": 1}), ((2, 9, 3), 4, {"axis": -2, "largest": 0}), ((40,), 3, {"axis": 0}),
          ((40,), 40, {}), ((3, 300), 150, {}), ((3, 300), 17, {"largest": 0}), ((2, 70, 2), 9, {"axis": 1}),
          ((2, 500), 1, {}))),
    *(row(f"{dtype}", "TopK", ties(3, 33, dtype=dtype, high=20), vector(7), constants=(1,), results=2)
      for dtype in ("float64", "float16", "int32", "int64", "int8", "uint8")),
    row("int64, large", "TopK", np.array([2**40 + 1, 2**40 + 3, 2**40 + 2], np.int64), vector(2), constants=(1,),
        results=2),
    row("short axis", "TopK", ties(3, 16), vector(7), constants=(1,), results=2, wanted=("topk",)),
)  # fmt: skip
ROWS = (*REDUCTIONS, *IDENTITY, *DTYPES, *BEYOND, *INFINITE, *POSITIONS, *TOP)
REFUSED = (
    (row("computed axes", "ReduceSum", DATA, vector(1)), "MXNet wants these numbers as attributes"),
    (row("computed k", "TopK", DATA, vector(1), results=2), "MXNet wants these numbers as attributes"),
)
BATCHES = dict.fromkeys(("ArgMax", "ArgMin", "ReduceSum", "ReduceMax", "ReduceL2", "ReduceLogSumExp"), ("x0",))
