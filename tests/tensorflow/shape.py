"""Reshapes, transposes, padding, and operators that pass their operand on."""

from __future__ import annotations

from tests.tensorflow.case import Case, case, data, ints, values

CASES = (
    *(case(op, "default", data(2, 3)) for op in ("Identity", "StopGradient", "PreventGradient", "Snapshot")),
    case("IdentityN", "two", data(2, 3), data(4), slots=(0, 1)),
    case("ExpandDims", "front", data(2, 3), ints(0, shape=())),
    case("ExpandDims", "last", data(2, 3), ints(-1, shape=())),
    case("ExpandDims", "vector", data(2, 3), ints(1)),
    case("Reshape", "numbers", data(2, 3, 4), ints(4, 6)),
    case("Reshape", "remaining", data(2, 3, 4), ints(-1, 4)),
    case("Reshape", "scalar", data(1, 1), ints()),
    case("Reshape", "int64", data(2, 3, 4), ints(2, -1, dtype="int64")),
    case("Reshape", "empty", data(0, 3), ints(3, 0), open_axes="", least_opset=14),
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
)
REFUSED: tuple[Case, ...] = (
    case("Reshape", "sizes", data(2, 3), ints(4, 2), reason="6 elements"),
    case("Transpose", "computed", data(2, 3), data(2, dtype="int32"), reason="order of axes"),
)
