"""Constants, inputs, and tensors made out of sizes."""

from __future__ import annotations

import numpy as np

from tests.tensorflow.case import Case, Input, case, data, ints, param, values
from tests.tensorflow.graphdef import node
from tests.tensorflow.networks import network

CASES = (
    case("Const", "float32", value=np.arange(6, dtype=np.float32).reshape(2, 3), dtype="float32", open_axes=""),
    case("Const", "scalar", value=np.array(3, np.int64), dtype="int64", open_axes=""),
    case("PlaceholderWithDefault", "default", data(2, 3), shape=(None, 3)),
    case("Fill", "constant", ints(2, 3), ints(7, shape=()), open_axes=""),
    case("Fill", "computed_value", ints(2, 3), data()),
    network("Fill-computed_sizes", node("Shape", "sizes", ["x"], T="int32"),
            node("Fill", "y", ["sizes", "v"], T="float32", index_type="int32"),
            inputs=(data(2, 3, dtype="int32", name="x"), data(name="v"))),
    network("Fill-constant_like", node("Shape", "sizes", ["x"], T="int32"),
            node("Fill", "y", ["sizes", "v"], T="int32", index_type="int32"),
            inputs=(data(2, 3, dtype="int32", name="x"), ints(-3, name="v", shape=()))),
    case("Fill", "int64", ints(4, dtype="int64"), values(2**60 + 1, shape=(), dtype="int64")),
    case("Fill", "bool", ints(4), values(1, shape=(), dtype="bool")),
    case("Fill", "scalar", ints(), values(3, shape=()), mxnet_lacks="no rank 0"),
    *(case(op, dtype, data(2, 3, 4, dtype=dtype)) for op in ("ZerosLike", "OnesLike")
      for dtype in ("float32", "int32", "float16", "int64")),
    *(case(op, "bool", data(3, dtype="bool", kind="bits")) for op in ("ZerosLike", "OnesLike")),
    case("Empty", "init", ints(2, 3), dtype="float32", init=True, open_axes=""),
    case("Range", "int32", *(ints(number, shape=()) for number in (2, 11, 3)), open_axes=""),
    case("Range", "down", *(ints(number, shape=()) for number in (5, -4, -2)), open_axes=""),
    case("Range", "float", *(param("end", kind=f"integers:{n}:{n}") for n in (1, 6, 2)), open_axes=""),
    case("Range", "fraction", Input("a", (), values=(0.5,), role="param"), Input("b", (), values=(4.0,), role="param"),
         Input("c", (), values=(0.75,), role="param"), open_axes=""),
    case("Range", "int64", *(ints(number, shape=(), dtype="int64") for number in (0, 5, 1)), open_axes=""),
    network("Range-float16", node("Range", "r", ["a", "b", "c"], Tidx="float16"),
            node("Reshape", "y", ["r", "five"], T="float16"),
            inputs=(values(0.5, shape=(), dtype="float16", name="a"), values(4, shape=(), dtype="float16", name="b"),
                    values(0.75, shape=(), dtype="float16", name="c"), ints(5, name="five"))),
    *(case("LinSpace", f"{count}", Input("a", (), values=(-1.5,), role="param"), values(4.0, shape=()),
           ints(count, shape=())) for count in (1, 2, 7)),
    case("LinSpace", "float64", values(0.1, shape=(), dtype="float64"), values(-3, shape=(), dtype="float64"),
         ints(5, shape=())),
)  # fmt: skip
REFUSED: tuple[Case, ...] = ()
