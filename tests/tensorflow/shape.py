"""Reshapes, transposes, padding, and operators that pass their operand on."""

from __future__ import annotations

from tests.tensorflow.case import Case, case, data, ints, values
from tests.tensorflow.graphdef import node
from tests.tensorflow.networks import network

PASSING = (
    *("Identity", "StopGradient", "PreventGradient", "Snapshot", "GuaranteeConst", "DeepCopy", "DebugGradientIdentity"),
)

CASES = (
    *(case(op, "default", data(2, 3)) for op in PASSING),
    case("IdentityN", "two", data(2, 3), data(4), slots=(0, 1)),
    case("ExpandDims", "front", data(2, 3), ints(0, shape=())),
    case("ExpandDims", "last", data(2, 3), ints(-1, shape=())),
    case("ExpandDims", "vector", data(2, 3), ints(1)),
    case("Reshape", "numbers", data(2, 3, 4), ints(4, 6)),
    case("Reshape", "remaining", data(2, 3, 4), ints(-1, 4)),
    case("Reshape", "scalar", data(1, 1), ints()),
    case("Reshape", "int64", data(2, 3, 4), ints(2, -1, dtype="int64")),
    case("Reshape", "empty", data(0, 3), ints(3, 0), open_axes=""),
    case("Shape", "default", data(2, 3, 4)),
    case("Shape", "int64", data(2, 3, 4), out_type="int64"),
    case("Size", "default", data(2, 3, 4)),
    case("Size", "int64", data(2, 3), out_type="int64"),
    case("Squeeze", "axes", data(2, 1, 3, 1), squeeze_dims=(1, -1)),
    case("Squeeze", "all", data(2, 1, 3, 1), open_axes=""),
    case("Transpose", "default", data(2, 3, 4), ints(2, 0, 1)),
    case("Transpose", "negative", data(2, 3, 4), ints(-1, 0, 1)),
    case("Transpose", "to_nchw", data(2, 3, 4, 5), ints(0, 3, 1, 2)),
    case("Pad", "default", data(2, 3), ints(1, 2, 0, 3, shape=(2, 2))),
    case("Pad", "int32", data(2, 3, dtype="int32"), ints(1, 2, 0, 3, shape=(2, 2))),
    case("PadV2", "value", data(2, 3), ints(1, 2, 0, 3, shape=(2, 2)), values(5, shape=())),
    case("MirrorPad", "reflect", data(4, 3), ints(1, 2, 0, 2, shape=(2, 2)), mode="REFLECT"),
    case("MirrorPad", "symmetric", data(4, 3), ints(1, 2, 0, 3, shape=(2, 2)), mode="SYMMETRIC"),
    case("MirrorPad", "symmetric_images", data(2, 4, 5, 3), ints(0, 0, 4, 1, 2, 5, 0, 0, shape=(4, 2)),
         mode="SYMMETRIC"),
    case("MirrorPad", "symmetric_int64", data(5, dtype="int64"), ints(2, 2, shape=(1, 2)), mode="SYMMETRIC"),
    case("MirrorPad", "symmetric_nothing", data(5), ints(0, 0, shape=(1, 2)), mode="SYMMETRIC"),
    network("Pad-computed", node("Shape", "s", ["v"], T="float32"), node("Pack", "p", ["s", "s"], T="int32", N=2),
            node("Pad", "y", ["x", "p"], T="float32"),
            inputs=(data(2, 3, name="x"), data(1, 2, name="v"))),
    case("CheckNumerics", "default", data(2, 3), message="m"),
    case("CheckNumericsV2", "default", data(2, 3), message="m"),
    case("Print", "default", data(2, 3), data(2), U=("float32",), message="m"),
    case("ConjugateTranspose", "default", data(2, 3, 4), ints(2, 0, 1)),
    case("EnsureShape", "default", data(2, 3), shape=(None, 3)),
    case("Rank", "default", data(2, 3, 4)),
    case("ShapeN", "default", data(2, 3), data(4, 1, 2), slots=(0, 1)),
    case("ShapeN", "int64", data(2, 3), data(4), slots=(0, 1), out_type="int64"),
    case("Tile", "default", data(2, 3), ints(2, 3)),
    case("Tile", "int64", data(2, 1, 3, dtype="int32"), ints(1, 4, 2, dtype="int64")),
    case("BroadcastTo", "default", data(2, 1, 3), ints(4, 2, 5, 3)),
    case("BroadcastTo", "int64", data(3, dtype="int32"), ints(2, 3, dtype="int64")),
    network("BroadcastArgs-BroadcastTo", node("Shape", "s", ["x"], T="float32"), node("Shape", "t", ["v"], T="float32"),
            node("BroadcastArgs", "u", ["s", "t"], T="int32"), node("BroadcastTo", "y", ["x", "u"], T="float32"),
            inputs=(data(2, 1, 3, name="x"), data(4, 3, name="v")), open_axes=""),
    case("BroadcastArgs", "known", ints(2, 1, 3), ints(4, 3), open_axes=""),
    case("BroadcastArgs", "int64", ints(3, dtype="int64"), ints(2, 1, 1, dtype="int64"), open_axes=""),
    case("ListDiff", "known", ints(0, 1, 2, 3), ints(1, 3), slots=(0, 1), open_axes=""),
    case("ListDiff", "computed", values(5, 1, 2, 1), values(1, 7), slots=(0, 1)),
    case("ListDiff", "int64", values(5, 1, 2, 1, dtype="int64"), values(2, dtype="int64"), slots=(0, 1),
         out_idx="int64"),
)  # fmt: skip
REFUSED: tuple[Case, ...] = (
    case("Reshape", "sizes", data(2, 3), ints(4, 2), reason="6 elements"),
    case("Transpose", "computed", data(2, 3), data(2, dtype="int32"), reason="order of axes"),
    case("EnsureShape", "size", data(2, 3), shape=(None, 4), reason="has size 3, expected 4"),
    case("EnsureShape", "rank", data(2, 3), shape=(2, 3, 1), reason="has 2 axes, expected 3"),
)
