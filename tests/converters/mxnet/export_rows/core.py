"""Elementwise operators, conversions, and what moves or makes elements, written for MXNet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.converters.mxnet import exporting
from tests.converters.mxnet.exporting import Row

RANDOM = np.random.default_rng(23)
FLOATS = ("float16", "float32", "float64")
INTEGERS = ("int8", "uint8", "int32", "int64")
# The operands that MXNet has as attributes.
ATTRIBUTES = {
    "Reshape": (1,), "Squeeze": (1,), "Unsqueeze": (1,), "Expand": (1,), "Tile": (1,), "Pad": (1, 3), "Split": (1,),
    "Slice": (1, 2, 3, 4),
}  # fmt: skip
INF, NAN = float("inf"), float("nan")


def normal(*shape: int, dtype: str = "float32") -> np.ndarray[Any, Any]:
    """Numbers of a normal distribution times four, whole ones for integers, none negative for uint8."""
    found = RANDOM.standard_normal(shape) * 4
    return (np.abs(found) if dtype == "uint8" else found).astype(dtype)


def truths(*shape: int) -> np.ndarray[Any, Any]:
    """Truths, half of them true."""
    return RANDOM.integers(0, 2, shape).astype(bool)


def vector(*numbers: float, dtype: str = "int64") -> np.ndarray[Any, Any]:
    """A vector."""
    return np.array(numbers, dtype)


def number(value: float, dtype: str = "int64") -> np.ndarray[Any, Any]:
    """A tensor without axes."""
    return np.array(value, dtype)


def row(name: str, op: str, *operands: Any, constants: Sequence[int] = (), **rest: Any) -> Row:
    """A row whose operands are initializers where MXNet wants attributes."""
    return exporting.row(name, op, *operands, constants=(*constants, *ATTRIBUTES.get(op, ())), **rest)


EDGES = vector(0.5, -1.5, 2.5, INF, -INF, NAN, -0.0, 3.0, dtype="float32")

COMPARISONS = (
    *(row(f"{op} {dtype}", op, normal(3, 1, 4, dtype=dtype), normal(2, 4, dtype=dtype))
      for op in ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual") for dtype in (*FLOATS, *INTEGERS)),
    row("Equal truths", "Equal", truths(3, 4), truths(4)),
    row("Equal number", "Equal", normal(3, 4, dtype="int64"), vector(1), constants=[1],
        wanted=("_equal_scalar", "Cast")),
    row("Less number before", "Less", vector(1, dtype="float32"), normal(3, 4), constants=[0]),
    row("Equal to more than float64 holds", "Equal", vector(2**53 + 1, 2**53), vector(2**53 + 1), constants=[1]),
    *(row(f"{op} truths", op, truths(3, 1, 2), truths(4, 2)) for op in ("And", "Or", "Xor")),
    row("Not", "Not", truths(3, 4)),
    row("IsNaN", "IsNaN", EDGES),
    *(row(f"IsInf {negative} {positive}", "IsInf", EDGES, detect_negative=negative, detect_positive=positive)
      for negative in (0, 1) for positive in (0, 1)),
)  # fmt: skip
ARITHMETIC = (
    *(row(f"Mod {dtype}", "Mod", normal(5, 4, dtype=dtype), normal(4, dtype=dtype) * 2 + 1)
      for dtype in INTEGERS),
    *(row(f"Mod fmod {dtype}", "Mod", normal(5, 4, dtype=dtype), normal(4, dtype=dtype) * 2 + 1, fmod=1)
      for dtype in (*FLOATS, *INTEGERS)),
    row("Mod fmod edges", "Mod", EDGES, vector(3, -2, 0, 2, 2, 1, 5, 7, dtype="float32"), fmod=1),
    row("Mod fmod number", "Mod", normal(3, 4), vector(2.5, dtype="float32"), constants=[1], fmod=1),
    row("Mod number", "Mod", normal(3, 4, dtype="int32"), vector(-3, dtype="int32"), constants=[1],
        wanted=("_mod_scalar",)),
    *(row(f"Pow {left} {right}", "Pow", np.abs(normal(3, 4, dtype=left)) + np.array(1, left),
          np.array([[2, 0, 1, 3]]).astype(right))
      for left in ("float32", "float64", "int32", "int64") for right in ("float32", "int32", "int64")),
    row("Pow root of integers", "Pow", vector(4, 9, 16, dtype="int32"), vector(0.5, dtype="float32"), constants=[1]),
    *(row(f"Pow beyond float32 {dtype}", "Pow", vector(7, 3, -5, dtype=dtype), vector(9, 15, 3, dtype=dtype))
      for dtype in ("int32", "int64")),
    *(row(f"Pow beyond float32 {name}", "Pow", left, right, constants=[slot]) for name, left, right, slot in (
        ("exponent", vector(7, 3, dtype="int32"), number(9, "int32"), 1),
        ("base", number(7, "int32"), vector(9, 3, dtype="int32"), 0))),
    row("Pow number", "Pow", normal(3, 4), vector(2, dtype="float32"), constants=[1], wanted=("_power_scalar",)),
    *(row(f"{op} three {dtype}", op, normal(3, 1, dtype=dtype), normal(2, 1, 4, dtype=dtype), normal(4, dtype=dtype))
      for op in ("Max", "Min") for dtype in (*FLOATS, *INTEGERS)),
    row("Max NaN", "Max", EDGES, EDGES[::-1].copy()),
    row("Max one", "Max", normal(3)),
    *(row(f"Round {dtype}", "Round", (RANDOM.integers(-9, 9, (4, 5)) * 0.5).astype(dtype)) for dtype in FLOATS),
    row("Round edges", "Round", EDGES),
    *(row(f"Sign {dtype}", "Sign", normal(3, 4, dtype=dtype)) for dtype in (*FLOATS, "int8", "int32", "int64")),
    row("Sign edges", "Sign", EDGES),
    row("Abs beyond float64", "Abs", vector(-(2**53) - 1, 2**53 + 1, -(2**63))),
    *(row(f"Clip {dtype}", "Clip", normal(3, 4, dtype=dtype), number(-2, dtype), number(3, dtype))
      for dtype in (*FLOATS, "int8", "int32", "int64")),
    row("Clip no bounds", "Clip", normal(3, 4), wanted=("_copy",)),
    row("Clip only max", "Clip", normal(3, 4), None, number(0.5, "float32"), wanted=("_minimum_scalar",)),
    row("Clip min above max", "Clip", normal(3, 4), number(1, "float32"), number(-1, "float32")),
    row("Clip beyond float64", "Clip", vector(2**62 + 3, 5), number(-(2**62) - 1), number(2**62 + 1)),
    *(row(f"Div {dtype}", "Div", normal(5, 4, dtype=dtype), normal(4, dtype=dtype) * 2 + 1) for dtype in INTEGERS),
    *(row(f"Div number beyond float32 {dtype}", "Div", number(33554435, dtype), vector(1, 3, -7, dtype=dtype),
          constants=[0]) for dtype in ("int32", "int64")),
    row("Sum broadcast", "Sum", normal(3, 1), normal(4), normal(2, 1, 4)),
    row("Mean", "Mean", normal(3, 1), normal(4), normal(3, 4)),
)  # fmt: skip
CHOICES = (
    row("Where broadcast", "Where", truths(3, 1), normal(4), normal(2, 3, 4)),
    row("Where truths", "Where", truths(3, 4), truths(3, 4), truths(4)),
    row("Where integers", "Where", truths(4), normal(3, 4, dtype="int64"), normal(3, 4, dtype="int64")),
    row("Where NaN unchosen", "Where", vector(1, 0, dtype="bool"), vector(1, NAN, dtype="float32"),
        vector(NAN, 2, dtype="float32")),
)  # fmt: skip
CASTS = tuple(
    row(f"Cast {source} {target}", "Cast", normal(3, 4, dtype=source), to=number_)
    for source in (*FLOATS, *INTEGERS)
    for target, number_ in (("float32", 1), ("uint8", 2), ("int8", 3), ("int32", 6), ("int64", 7), ("bool", 9),
                            ("float16", 10), ("float64", 11))
    if not (source in FLOATS and target == "uint8")
) + tuple(
    row(f"Cast truths {target}", "Cast", truths(3, 4), to=target) for target in (1, 2, 6, 7, 9, 10, 11)
) + (row("Cast edges", "Cast", EDGES, to=9), row("Cast fractions", "Cast", normal(4, 4), to=6))  # fmt: skip
SHAPES = (
    row("Reshape keep", "Reshape", normal(2, 3, 4), vector(0, -1)),
    row("Reshape truths", "Reshape", truths(2, 3), vector(3, 2)),
    *(row(f"Transpose {dtype}", "Transpose", normal(2, 3, 4, dtype=dtype), perm=[2, 0, 1])
      for dtype in (*FLOATS, *INTEGERS)),
    row("Transpose truths", "Transpose", truths(2, 3)),
    row("Squeeze axes", "Squeeze", normal(1, 3, 1, 2), vector(-2, 0)),
    row("Squeeze all", "Squeeze", normal(1, 3, 1, 2)),
    row("Unsqueeze", "Unsqueeze", normal(2, 3), vector(3, 0, -1)),
    row("Unsqueeze unordered", "Unsqueeze", normal(2, 3), vector(2, 1)),
    row("Expand", "Expand", normal(3, 1), vector(2, 1, 4)),
    row("Expand smaller", "Expand", normal(2, 3, 4), vector(1, 4)),
    row("Expand truths", "Expand", truths(3, 1), vector(3, 2)),
    *(row(f"Tile {len(reps)}", "Tile", normal(*shape), vector(*reps))
      for shape, reps in (((2, 3), (2, 3)), ((1, 2, 3, 2), (2, 1, 3, 2)), ((2, 1, 2, 1, 2), (1, 2, 3, 2, 2)))),
    *(row(f"Tile {dtype}", "Tile", normal(2, 3, dtype=dtype), vector(2, 1)) for dtype in ("int64", "uint8", "float16")),
    row("Shape part", "Shape", normal(2, 3, 4, 5), start=1, end=-1),
    row("Size", "Size", normal(2, 3, 4)),
    row("Flatten none", "Flatten", normal(2, 3, 4), axis=0),
    row("Flatten behind", "Flatten", normal(2, 3, 4), axis=2, wanted=("Reshape",)),
    row("Flatten last", "Flatten", normal(2, 3, 4), axis=-1),
)
PADS = (
    *(row(f"Pad {mode} {shape}", "Pad", normal(*shape), vector(*pads), mode=mode)
      for mode in ("constant", "edge", "reflect", "wrap")
      for shape, pads in (((5,), (2, 3)), ((4, 5), (1, 0, 3, 2)), ((2, 3, 6), (0, 0, 2, 0, 0, 4)),
                          ((1, 2, 4, 5), (0, 0, 1, 2, 0, 0, 3, 0)), ((3, 2, 4, 5), (1, 1, 1, 2, 2, 0, 3, 0)))),
    *(row(f"Pad {mode} {dtype}", "Pad", normal(3, 4, dtype=dtype), vector(1, 2, 0, 3), mode=mode)
      for mode in ("constant", "edge") for dtype in ("float64", "int32", "int64")),
    row("Pad number", "Pad", normal(3, 4), vector(1, 2, 0, 3), number(-1.5, "float32")),
    row("Pad axes", "Pad", normal(2, 3, 4), vector(1, 0, 2, 1), number(2.5, "float32"), vector(-1, 0)),
    row("Pad crops", "Pad", normal(1, 2, 5, 6), vector(0, 0, -1, 2, 0, 0, 1, -3), number(1, "float32")),
    row("Pad crops and reflects", "Pad", normal(5, 6), vector(-1, 2, 1, -2), mode="reflect"),
    row("Pad nothing", "Pad", normal(2, 3), vector(0, 0, 0, 0)),
)  # fmt: skip
SIX = (2, 3, 2, 3, 2, 2)
PARTS = (
    row("Slice six axes", "Slice", normal(*SIX), vector(1, 0), vector(3, -1), vector(1, -1)),
    row("Slice six axes by steps", "Slice", normal(*SIX), vector(2, 0, 1), vector(-9, 9, 2), vector(1, 3, 4),
        vector(-1, 2, 1)),
    row("Slice nothing of six axes", "Slice", normal(*SIX), vector(0), vector(9), vector(1)),
    row("Slice six axes of truths", "Slice", truths(*SIX), vector(-1), vector(-9), vector(3), vector(-2)),
    row("Pad less of six axes", "Pad", normal(*SIX), vector(0, -1, 0, 0, 1, 0, 0, -1, 0, -2, 0, 1)),
    row("Tile three axes", "Tile", normal(2, 3, 4), vector(2, 2, 2)),
    row("Tile four axes", "Tile", normal(2, 3, 1, 2), vector(2, 2, 3, 2)),
    row("Tile six axes", "Tile", normal(2, 1, 2, 1, 2, 2), vector(2, 2, 1, 2, 2, 2)),
    row("Slice negative step", "Slice", normal(5, 6), vector(-1), vector(-9), vector(1), vector(-2)),
    row("Slice backwards from before", "Slice", normal(5, 6), vector(-9), vector(-20), vector(1), vector(-2)),
    row("Slice backwards whole", "Slice", normal(4, 3), vector(3), vector(-(2**63) + 1), vector(0), vector(-1)),
    row("Slice beyond", "Slice", normal(4, 5, 6), vector(-9, 1), vector(2**62, 99), vector(2, 0), vector(2, 1)),
    row("Slice negative axes", "Slice", normal(4, 5, 6), vector(1, 1), vector(-1, 3), vector(-1, -3)),
    row("Slice one axis", "Slice", normal(4, 5), vector(1), vector(4), vector(1), wanted=("slice_axis",)),
    row("Slice two axes", "Slice", normal(4, 5), vector(1, 0), vector(4, 3), wanted=("slice",)),
    row("Slice truths", "Slice", truths(4, 5), vector(1), vector(3)),
    row("Split uneven", "Split", normal(2, 7), vector(2, 1, 4), results=3, axis=1),
    row("Split equal", "Split", normal(6, 2), results=3, num_outputs=3, wanted=("SliceChannel",)),
    row("Split shorter last", "Split", normal(7, 2), results=3, num_outputs=3),
    row("Split negative axis", "Split", normal(2, 3, 4), vector(1, 3), results=2, axis=-1),
    row("Split one", "Split", normal(2, 3), vector(2), results=1, axis=0),
    row("Split truths", "Split", truths(4, 3), vector(1, 3), results=2, axis=0),
    *(row(f"Concat {dtype}", "Concat", normal(2, 3, dtype=dtype), normal(2, 1, dtype=dtype), axis=-1)
      for dtype in (*FLOATS, *INTEGERS)),
    row("Concat truths", "Concat", truths(2, 3), truths(1, 3), axis=0),
    row("Concat one", "Concat", normal(2, 3), axis=0),
    *(row(f"DepthToSpace {mode} {block}", "DepthToSpace", normal(2, block**2 * 2, 3, 2), blocksize=block, mode=mode)
      for mode in ("DCR", "CRD") for block in (2, 3)),
    row("DepthToSpace float64", "DepthToSpace", normal(1, 8, 2, 3, dtype="float64"), blocksize=2, mode="CRD"),
    *(row(f"SpaceToDepth {block}", "SpaceToDepth", normal(2, 3, block * 2, block * 3), blocksize=block)
      for block in (2, 3)),
)  # fmt: skip
MADE = (
    *(row(f"Range {start} {limit} {delta} {dtype}", "Range", number(start, dtype), number(limit, dtype),
          number(delta, dtype))
      for start, limit, delta, dtype in (
          (0, 5, 1, "int64"), (7, -2, -3, "int32"), (1, 2, 0.3, "float32"), (2, 9, 2, "float64"))),
    row("ConstantOfShape", "ConstantOfShape", vector(2, 3), constants=[0], wanted=("_full",)),
)  # fmt: skip
ROWS = (*COMPARISONS, *ARITHMETIC, *CHOICES, *CASTS, *SHAPES, *PADS, *PARTS, *MADE)
MOVED = ("DepthToSpace", "Flatten", "Pad", "Slice", "SpaceToDepth", "Split", "Tile", "Transpose")
BATCHES = dict.fromkeys(MOVED, ("x0",))


def repeats_first_axis(source: Row) -> bool:
    """Whether it is a Pad that repeats elements of the first axis, the size of which it must know."""
    if source.op != "Pad" or source.attrs.get("mode", "constant") == "constant":
        return False
    pads = source.held["x1"]
    return bool(pads[0] or pads[pads.size // 2])


KEPT_CLOSED = ("Split shorter last", *(source.name for source in ROWS if repeats_first_axis(source)))
