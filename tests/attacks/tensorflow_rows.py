"""Hostile graphs of TensorFlow: as .pb, .pbtxt, SavedModel and .meta with a checkpoint."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphir.converters.tensorflow.files.sstable import MAGIC
from tests.attacks.attack import Attack
from tests.tensorflow.checkpoints import INDEX, append, block_of, saved_models, table_of, table_parts
from tests.tensorflow.graphdef import const, encode, function, graph_def, node, placeholder, shape_proto

Node = Mapping[str, Any]
X = placeholder("x", "float32", (2, 4))
OBJECTS = np.array(["a", "b"], object)
IMAGE = placeholder("x", "float32", (1, 8, 8, 4))


def graph(name: str, nodes: Sequence[Node], refused: str = "", functions: Sequence[Node] = (), **more: Any) -> Attack:
    """A graph with the input x, (2, 4)."""
    return Attack(name, "m.pb", {"m.pb": graph_def(X, *nodes, functions=functions)}, refused, **more)


def text(name: str, content: str | bytes, refused: str = "") -> Attack:
    """A .pbtxt file."""
    data = content.encode() if isinstance(content, str) else content
    return Attack(name, "m.pbtxt", {"m.pbtxt": data}, refused)


def relu(name: str, *inputs: str) -> Node:
    """The shortest node."""
    return node("Relu", name, inputs, T="float32")


def bare(op: str, name: str, inputs: Sequence[str] = (), **attrs: Mapping[str, Any]) -> Node:
    """A node with attributes as the protobuf has them."""
    return {"name": name, "op": op, "input": list(inputs), "attr": attrs}


def called(name: str, callee: str, argument: str) -> Node:
    """A call of one argument."""
    return node("PartitionedCall", name, [argument], f=callee, Tin=["float32"], Tout=["float32"])


def one(name: str, *nodes: Node, result: str) -> Node:
    """A function of one argument, a, and one result, r."""
    return function(name, {"a": "float32"}, {"r": ("float32", result)}, *nodes)


def doubling(depth: int) -> list[Node]:
    """Functions of which each calls the one before twice."""
    first = one("f0", relu("n", "a"), result="n:activations:0")
    rest = [
        one(f"f{slot + 1}", called("b", f"f{slot}", "a"), called("c", f"f{slot}", "b:output:0"), result="c:output:0")
        for slot in range(depth)
    ]
    return [first, *rest]


def chained(depth: int) -> list[Node]:
    """Functions of which each calls the one before once."""
    first = one("f0", relu("n", "a"), result="n:activations:0")
    rest = [one(f"f{slot + 1}", called("b", f"f{slot}", "a"), result="b:output:0") for slot in range(depth)]
    return [first, *rest]


def looping(depth: int, body: str = "f{}") -> list[Node]:
    """Functions that are loops with the one before as body."""
    condition = function("c", {"a": "float32"}, {"r": ("bool", "k:output:0")}, const("k", True))
    rest = [
        one(f"f{slot + 1}", node("While", "w", ["a"], T=["float32"], cond="c", body=body.format(slot)),
            result="w:output:0")
        for slot in range(depth)
    ]  # fmt: skip
    return [condition, one("f0", relu("n", "a"), result="n:activations:0"), *rest]


def branching(depth: int) -> list[Node]:
    """Functions that are conditionals with the one before as both branches."""
    condition = [node("Any", "p", ["q:z:0", "k:output:0"], keep_dims=False, Tidx="int32"), const("k", [0, 1], "int32"),
                 node("Greater", "q", ["a", "a"], T="float32")]  # fmt: skip
    rest = [
        one(f"f{slot + 1}", *condition, node("If", "w", ["p:output:0", "a"], Tcond="bool", Tin=["float32"], Tout=[
            "float32"], then_branch=f"f{slot}", else_branch=f"f{slot}"), result="w:output:0")
        for slot in range(depth)
    ]  # fmt: skip
    return [one("f0", relu("n", "a"), result="n:activations:0"), *rest]


def splat(name: str, dtype: int, sizes: Sequence[int], **fields: Any) -> Node:
    """A Const whose elements are said in any way."""
    names = {1: "float32", 3: "int32", 7: "string", 8: "complex64", 9: "int64", 10: "bool", 19: "float16"}
    proto = {"dtype": dtype, "tensor_shape": shape_proto(sizes), **fields}
    return {**node("Const", name, dtype=names[dtype]), "attr": {"dtype": {"type": dtype}, "value": {"tensor": proto}}}


def counted(name: str, **attrs: Any) -> Node:
    """An operator whose attribute says how many results it has."""
    return node(name, "y", ["x"] if name == "Unpack" else ["axis", "x"], T="float32", **attrs)


def many_chained(count: int) -> list[Node]:
    """Nodes in a row."""
    return [relu(f"n{slot}", f"n{slot - 1}" if slot else "x") for slot in range(count)]


HUGE = 10**12
AXIS = const("axis", 0, "int32")
FUNCTIONS = (
    graph("functions that call twice", [called("y", "f40", "x")], "levels", doubling(40)),
    graph("functions that call twice, as deep as may be", [called("y", "f28", "x")], "nodes", doubling(28)),
    graph("functions that call twice, of a few levels", [called("y", "f6", "x")], "", doubling(6)),
    graph("functions in a chain of 500", [called("y", "f500", "x")], "levels", chained(500)),
    graph("functions in a chain of 20", [called("y", "f20", "x")], "", chained(20)),
    graph("loops in loops", [called("y", "f100", "x")], "deep", looping(100)),
    graph("loops in loops, as deep as may be", [called("y", "f30", "x")], "nodes", looping(30)),
    graph("loops in loops, three deep", [called("y", "f3", "x")], "", looping(3)),
    graph("conditions in conditions", [called("y", "f30", "x")], "nodes", branching(30)),
    graph("conditions in conditions, five deep", [called("y", "f5", "x")], "", branching(5)),
    graph("a loop whose body is itself", [called("y", "f1", "x")], "deep", looping(1, "f1")),
    graph("functions that call each other", [called("y", "f1", "x")], "calls itself", [
        one("f1", called("n", "f2", "a"), result="n:output:0"), one("f2", called("n", "f1", "a"), result="n:output:0"),
    ]),
    graph("a function called as an operator is", [called("y", "Relu", "x")], "two functions or operators", [
        one("Relu", relu("n", "a"), result="n:activations:0")]),
    graph("two functions of one name", [called("y", "f0", "x")], "two functions", doubling(0) * 2),
    graph("two nodes of one name in a function", [called("y", "f", "x")], "two nodes", [
        one("f", relu("n", "a"), relu("n", "a"), result="n:activations:0")]),
    graph("a call that makes a node of another's name", [called("y", "f0", "x"), relu("y/n", "x"), relu("z", "y/n")],
          "two nodes are called 'y/n'", doubling(0)),
    graph("a result that a function's node has not", [called("y", "f", "x")], "uses 'nothing:0' of its node n", [
        one("f", relu("n", "a"), result="n:nothing:0")]),
    graph("a function's result with a number of 5000 digits", [called("y", "f", "x")], "uses", [
        one("f", relu("n", "a"), result="n:activations:" + "9" * 5000)]),
    graph("a cycle in a function", [called("y", "f", "x")], "cycle", [
        one("f", node("Identity", "n", ["m:output:0"], T="float32"), node("Identity", "m", ["n:output:0"], T="float32"),
            result="n:output:0")]),
)  # fmt: skip
COUNTS = (
    graph("a billion parts", [AXIS, counted("Split", num_split=10**9)], "in one node"),
    graph("2**62 parts", [AXIS, counted("Split", num_split=2**62)], "in one node"),
    graph("no parts", [AXIS, counted("Split", num_split=0)], "at least 1"),
    graph("a billion slices", [counted("Unpack", num=10**9, axis=0)], "in one node"),
    graph("less than no slices", [counted("Unpack", num=-1, axis=0)], "at least 0"),
    graph("a thousand times ten thousand slices",
          [node("Unpack", f"u{slot}", ["x"], T="float32", num=9_999, axis=0) for slot in range(1000)], "nodes"),
    graph("a billion operands", [node("AddN", "y", ["x"], T="float32", N=10**9)], "has 1 inputs, expected 1000000000"),
    graph("less than no operands", [node("AddN", "y", ["x"], T="float32", N=-1)], "at least 1"),
    graph("a hundred million shuffles", [node("Tile", "y", ["x", "k"], T="float32", Tmultiples="int64"),
                                         const("k", [10**6, 10**9], "int64")]),
)  # fmt: skip
ELEMENTS: tuple[Attack, ...] = (
    graph("a splat of 10**12", [splat("k", 1, [HUGE], float_val=[1.0]), relu("y", "k")], target="result.graphir.json"),
    graph("a splat of 10**12 of int64", [splat("k", 9, [HUGE], int64_val=[2**62 + 1]), node(
        "Neg", "y", ["k"], T="int64")], "elements"),
    graph("a splat of 10**9 in each of 3 axes", [splat("k", 1, [10**9] * 3, float_val=[1.0]), relu("y", "k")],
          "memory has addresses"),
    graph("two elements for 10**12", [splat("k", 1, [HUGE], float_val=[1.0, 2.0]), relu("y", "k")], "elements"),
    graph("a text for 10**12", [splat("k", 7, [HUGE], string_val=[b"a"]), node("Identity", "y", ["k"], T="string")],
          "elements"),
    graph("a text for 16 million", [splat("k", 7, [255, 2, 32767], string_val=[b"a"]), node(
        "Identity", "y", ["k"], T="string")], "elements"),
    graph("complex numbers that do not pair", [splat("k", 8, [2], scomplex_val=[1.0, 2.0, 3.0]), node(
        "Real", "y", ["k"], T="complex64", Tout="float32")], "no whole number"),
    graph("a half of more than 16 bits", [splat("k", 19, [1], half_val=[2**40]), node(
        "Neg", "y", ["k"], T="float16")]),
    graph("too few bytes", [splat("k", 1, [4], tensor_content=b"\0" * 3), relu("y", "k")], "3 bytes"),
    graph("too many bytes", [splat("k", 1, [4], tensor_content=b"\0" * 64), relu("y", "k")], "64 bytes"),
    graph("200 axes", [splat("k", 1, [1] * 200, float_val=[1.0]), relu("y", "k")], "axes"),
    graph("a negative size", [splat("k", 1, [-4], float_val=[1.0]), relu("y", "k")], "not fixed"),
    graph("a constant that states another dtype", [
        bare("Const", "k", dtype={"type": 3}, value=const("k", [1.0], "float32")["attr"]["value"]),
        node("Neg", "y", ["k"], T="int32")], "states int32"),
    graph("Fill of 10**15", [const("n", [HUGE, 1000], "int64"), const("v", 1.5, "float32"), node(
        "Fill", "y", ["n", "v"], T="float32", index_type="int64")]),
    graph("Fill below 0", [const("n", [-5], "int64"), const("v", 1.5, "float32"), node(
        "Fill", "y", ["n", "v"], T="float32", index_type="int64")], "negative"),
    graph("Range to 10**15", [const("a", 0, "int64"), const("b", 10**15, "int64"), const("c", 1, "int64"), node(
        "Range", "y", ["a", "b", "c"], Tidx="int64")]),
    graph("Range in steps of 0", [const("a", 0, "int64"), const("b", 9, "int64"), const("c", 0, "int64"), node(
        "Range", "y", ["a", "b", "c"], Tidx="int64")]),
    graph("LinSpace of 10**12", [const("a", 0, "float32"), const("b", 9, "float32"), const("c", HUGE, "int64"), node(
        "LinSpace", "y", ["a", "b", "c"], T="float32", Tidx="int64")]),
    graph("OneHot of 10**12", [const("i", [1, 2], "int64"), const("d", 2**31 - 1, "int32"), const("a", 1.0, "float32"),
                               const("b", 0.0, "float32"),
                               node("OneHot", "y", ["i", "d", "a", "b"], T="float32", TI="int64", axis=-1)]),
    graph("Pad by 10**12", [const("p", [[0, HUGE], [HUGE, 0]], "int64"), node(
        "Pad", "y", ["x", "p"], T="float32", Tpaddings="int64")]),
    graph("a diagonal matrix of 10**10", [splat("k", 1, [10**5], float_val=[2.0]), node(
        "Diag", "y", ["k"], T="float32")]),
    graph("BroadcastTo 10**12", [const("s", [HUGE, 2, 4], "int64"), node(
        "BroadcastTo", "y", ["x", "s"], T="float32", Tidx="int64")]),
)  # fmt: skip
LARGEST = const("s", [2**31 - 1, 2**31 - 1], "int32")
ELEMENTS += tuple(
    Attack(f"{op} to 2**31-1", "m.pb", {"m.pb": graph_def(IMAGE, LARGEST, node(
        op, "y", ["x", "s"], T="float32", **more))}, refused)
    for op, more, refused in (
        ("ResizeArea", {"align_corners": True}, "elements"), ("ResizeNearestNeighbor", {}, "elements"),
        ("ResizeBicubic", {"half_pixel_centers": True}, ""), ("ResizeBilinear", {}, ""),
    )
)  # fmt: skip
ELEMENTS += (
    Attack("CropAndResize to 2**31-1", "m.pb", {"m.pb": graph_def(
        IMAGE, LARGEST, const("b", [[0.0, 0.0, 1.0, 1.0]], "float32"), const("i", [0], "int32"),
        node("CropAndResize", "y", ["x", "b", "i", "s"], T="float32"))}, "elements"),
    graph("a matrix whose diagonal is 2**31-1 off", [
        const("k", 2**31 - 1, "int32"), const("r", -1, "int32"), const("p", 0.0, "float32"),
        node("MatrixDiagV3", "y", ["x", "k", "r", "r", "p"], T="float32", align="LEFT_LEFT")], "elements"),
    graph("a matrix of 10**9 rows", [
        const("k", 0, "int32"), const("r", 10**9, "int32"), const("p", 0.0, "float32"),
        node("MatrixDiagV2", "y", ["x", "k", "r", "r", "p"], T="float32")], "elements"),
)  # fmt: skip
WINDOW = {"T": "float32", "padding": "SAME", "data_format": "NHWC"}


def pooled(name: str, refused: str, **attrs: Any) -> Attack:
    """A pooling of an image."""
    made = node("MaxPool", "y", ["x"], **{**WINDOW, "ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], **attrs})
    return Attack(name, "m.pb", {"m.pb": graph_def(IMAGE, made)}, refused)


def turned(name: str, refused: str, sizes: Sequence[Any] | int) -> Attack:
    """A transposed convolution of an image to sizes that do not fit its axes."""
    made = node("Conv2DBackpropInput", "y", ["s", "w", "x"], **{**WINDOW, "strides": [1, 2, 2, 1]})
    weight = const("w", np.ones((3, 3, 2, 4)).tolist(), "float32")
    return Attack(name, "m.pb", {"m.pb": graph_def(IMAGE, const("s", sizes, "int32"), weight, made)}, refused)


def dilated(crops: list[list[int]]) -> Attack:
    """A dilated convolution as frameworks write it, whose crops are another number than its paddings."""
    plain = {"T": "float32", "padding": "VALID", "data_format": "NHWC", "strides": [1, 1, 1, 1]}
    weight = const("w", np.ones((3, 3, 4, 4)).tolist(), "float32")
    nodes = (
        IMAGE, weight, const("b", [2, 2], "int32"), const("p", [[2, 2], [2, 2]], "int32"), const("c", crops, "int32"),
        node("SpaceToBatchND", "s", ["x", "b", "p"], T="float32"), node("Conv2D", "k", ["s", "w"], **plain),
        node("BatchToSpaceND", "y", ["k", "b", "c"], T="float32"),
    )  # fmt: skip
    return Attack("a dilated convolution with other crops", "m.pb", {"m.pb": graph_def(*nodes)}, "BatchToSpaceND")


SCHEMA = (
    dilated([[0, 0]]),
    turned("a transposed convolution to three sizes", "expected 4 of them", [16, 16, 2]),
    turned("a transposed convolution to one size", "expected 4 of them", [16]),
    turned("a transposed convolution to five sizes", "expected 4 of them", [1, 16, 16, 2, 1]),
    turned("a transposed convolution to sizes as a matrix", "y (Conv2DBackpropInput)", [[16, 16]]),
    turned("a transposed convolution to a size without axes", "y (Conv2DBackpropInput)", 16),
    graph("no inputs", [relu("y")], "has 0 inputs, expected 1"),
    graph("too many inputs", [relu("y", "x", "x", "x")], "has 3 inputs, expected 1"),
    graph("a dtype that is a number", [bare("Relu", "y", ["x"], T={"i": 1})], "expected type"),
    graph("a dtype of number 9999", [bare("Relu", "y", ["x"], T={"type": 9999})], "expected type"),
    graph("an attribute that states nothing", [bare("Relu", "y", ["x"], T={})], "expected type"),
    graph("an attribute that is missing", [bare("Relu", "y", ["x"])], "attribute T is missing"),
    graph("a placeholder of no dtype", [bare("Placeholder", "z"), relu("y", "z")], "dtype is missing"),
    graph("a constant without elements", [bare("Const", "k", dtype={"type": 1}), relu("y", "k")], "value is missing"),
    graph("a constant that is a shape", [bare("Const", "k", dtype={"type": 1}, value={"shape": shape_proto((2,))}),
                                         relu("y", "k")], "expected tensor"),
    graph("a placeholder's attribute in a graph", [bare("Relu", "y", ["x"], T={"placeholder": "T"})], "expected type"),
    graph("a result that a node has not", [relu("y", "x:7")], "is result 7 of x"),
    graph("a result of 5000 digits", [relu("y", "x:" + "9" * 5000)], "not in the graph"),
    graph("a result with a digit of another script", [relu("y", "x:\u0661")], "not in the graph"),
    graph("texts where numbers are due", [const("s", OBJECTS), relu("y", "s")], "expected float32"),
    graph("a list of numbers as shape", [bare("Placeholder", "z", dtype={"type": 1}, shape={"list": {"i": [2, -7]}}),
                                         relu("y", "z")], "expected shape"),
    graph("a list of two kinds", [bare("MaxPool", "y", ["x"], ksize={"list": {"i": [1], "f": [1.0]}})], "list of both"),
    pooled("strides of 0", "at least 1", strides=[1, 0, 0, 1]),
    pooled("negative strides", "at least 1", strides=[1, -2, -2, 1]),
    pooled("one stride", "at least 4", strides=[2]),
    pooled("five strides", "expected 4 numbers", strides=[1] * 5),
    pooled("a window of 2**62", "at least 1", ksize=[1, 2**62, 2, 1]),
    pooled("a padding that there is not", "one of", padding="NEARLY"),
    pooled("a layout that there is not", "one of", data_format="NHC"),
    graph("a permutation with an axis twice", [const("p", [0, 0], "int32"), node(
        "Transpose", "y", ["x", "p"], T="float32", Tperm="int32")], "Transpose: 1 node (y)"),
    graph("a permutation as a matrix", [const("p", [[0, 1]], "int32"), node(
        "Transpose", "y", ["x", "p"], T="float32", Tperm="int32")], "y (Transpose)"),
    graph("a slice of other lengths", [const("b", [0, 0], "int32"), const("n", [1], "int32"), node(
        "Slice", "y", ["x", "b", "n"], T="float32", Index="int32")], "y (Slice)"),
    graph("a strided slice of other lengths", [const("b", [0, 0], "int32"), const("e", [1], "int32"), node(
        "StridedSlice", "y", ["x", "b", "e", "b"], T="float32", Index="int32")], "y (StridedSlice)"),
    graph("a strided slice of 90 axes", [const("b", [0] * 90, "int32"), const("e", [1] * 90, "int32"), node(
        "StridedSlice", "y", ["x", "b", "e", "e"], T="float32", Index="int32")], "cuts 90 axes"),
    graph("a reshape by a matrix", [const("s", [[2, 4]], "int32"), node(
        "Reshape", "y", ["x", "s"], T="float32", Tshape="int32")], "y (Reshape)"),
    graph("paddings of one row", [const("p", [[1, 1]], "int32"), node(
        "Pad", "y", ["x", "p"], T="float32", Tpaddings="int32")], "y (Pad)"),
    graph("a roll of other lengths", [const("s", [1, 2], "int32"), const("a", [0], "int32"), node(
        "Roll", "y", ["x", "s", "a"], T="float32", Tshift="int32", Taxis="int32")], "y (Roll)"),
    Attack("an image of no size", "m.pb", {"m.pb": graph_def(IMAGE, const("s", [0, 5], "int32"), node(
        "ResizeArea", "y", ["x", "s"], T="float32", align_corners=False))}, "two sizes of at least 1"),
    Attack("a block of 0", "m.pb", {"m.pb": graph_def(IMAGE, const("b", [2, 0], "int32"), const(
        "p", [[0, 0], [0, 0]], "int32"), node("BatchToSpaceND", "y", ["x", "b", "p"], T="float32"))}, "at least 1"),
    Attack("crops below 0", "m.pb", {"m.pb": graph_def(IMAGE, const("b", [1, 1], "int32"), const(
        "p", [[-5, 0], [0, 0]], "int32"), node("BatchToSpaceND", "y", ["x", "b", "p"], T="float32"))}, "at least 0"),
    Attack("paddings below 0", "m.pb", {"m.pb": graph_def(IMAGE, const("b", [2, 2], "int32"), const(
        "p", [[-2, 0], [0, 0]], "int32"), node("SpaceToBatchND", "y", ["x", "b", "p"], T="float32"))}, "at least 0"),
    Attack("paddings of one axis", "m.pb", {"m.pb": graph_def(IMAGE, const("b", [2, 2], "int32"), const(
        "p", [[2, 0]], "int32"), node("SpaceToBatchND", "y", ["x", "b", "p"], T="float32"))}, "y (SpaceToBatchND)"),
    Attack("an image of four sizes", "m.pb", {"m.pb": graph_def(IMAGE, const("s", [2, 5, 1, 1], "int32"), node(
        "ResizeBilinear", "y", ["x", "s"], T="float32"))}, "two sizes of at least 1"),
    graph("an axis of 2**31-1", [const("a", 2**31 - 1, "int32"), node(
        "Sum", "y", ["x", "a"], T="float32", Tidx="int32", keep_dims=False)], "y (Sum)"),
    graph("a Pack along axis 2**62", [node("Pack", "y", ["x", "x"], T="float32", N=2, axis=2**62)], "y (Pack)"),
    graph("an equation without end", [node("Einsum", "y", ["x", "x"], T="float32", N=2, equation="a" * 9999)],
          "y (Einsum)"),
    graph("an equation of bytes", [bare("Einsum", "y", ["x"], T={"type": 1}, N={"i": 1}, equation={"s": b"\xff->"})],
          "expected a text"),
)  # fmt: skip
CYCLES = (
    graph("a cycle of nodes that change nothing", [
        node("Identity", "a", ["b"], T="float32"), node("Identity", "b", ["a"], T="float32"), relu("y", "x")], "cycle"),
    graph("a condition that is its own", [
        node("Identity", "p", ["p"], T="bool"), node("Switch", "s", ["x", "p"], T="float32"),
        node("Merge", "m", ["s", "s:1"], T="float32", N=2), relu("y", "m")], "cycle"),
    graph("frames that lead nowhere", [
        node("Enter", "e", ["x"], T="float32", frame_name="f"), node("Merge", "m", ["e", "n"], T="float32", N=2),
        node("NextIteration", "n", ["m"], T="float32"), node("Exit", "y", ["m"], T="float32")], "y leaves no loop"),
    graph("a loop without a condition", [
        node("Enter", "e", ["x"], T="float32", frame_name="f"), node("Merge", "m", ["e", "n"], T="float32", N=2),
        node("Switch", "s", ["m", "c"], T="float32"), node("LoopCond", "c", ["c"]),
        node("NextIteration", "n", ["s:1"], T="float32"), node("Exit", "y", ["s"], T="float32")], "cycle"),
    graph("10000 nodes in a row", many_chained(10_000)),
)  # fmt: skip


def conditionals(count: int) -> list[Node]:
    """Conditionals of version 1, each of which takes what the one before gives."""
    found: list[Node] = [const("p", True)]
    for slot in range(count):
        before = f"m{slot - 1}" if slot else "x"
        found += [
            node("Switch", f"s{slot}", [before, "p"], T="float32"), relu(f"a{slot}", f"s{slot}"),
            node("Merge", f"m{slot}", [f"a{slot}", f"s{slot}:1"], T="float32", N=2),
        ]  # fmt: skip
    return found


DEEP = "node { " + 'attr { key: "f" value { func { name: "f" ' * 60 + "} } } " * 60 + "}"
TEXTS = (
    graph("500 conditionals, one behind the other", conditionals(500)),
    text("nesting of a text", DEEP, "nested"),
    text("nesting without an end", "node { " * 10_000, "no field"),
    text("skipped values without an end", "node { experimental_type " + "{ a " * 5_000, "nested"),
    text("a number of 5000 digits", "versions { producer: " + "9" * 5000 + " }", "producer"),
    text("a float of 100000 hexadecimal digits", 'node { attr { key: "f" value { f: 0x' + "f" * 100_000 + " } } }",
         "64 bits"),
    text("a character that is none", 'node { name: "\\UFFFFFFFF" }', "no character"),
    text("a text without an end", 'node { name: "' + "a\\" * 50_000, "unexpected"),
    text("no text", b"node { name: \"\xff\" }", "UTF-8"),
    text("100000 quotes", 'node { name: ' + '"a" ' * 100_000 + "}", "no operator"),
    Attack("a message in itself, 200 deep", "m.pb", {"m.pb": b"\x0a\x80\x04" + b"\x2a\x7d" * 256}, "cut short"),
    Attack("a length of 2**63", "m.pb", {"m.pb": b"\x0a" + b"\xff" * 8 + b"\x7f" + b"\x0a" * 20}, "cut short"),
)  # fmt: skip


def saved(name: str, change: Any, refused: str, *, which: int = 0) -> Attack:
    """A SavedModel (or, behind the fourth, a .meta file) with its files changed."""
    entry, files = saved_models()[which]
    return Attack(name, entry, {**files, **change(dict(files))}, refused)


def index_of(files: Mapping[str, bytes]) -> str:
    """The name of the checkpoint's index."""
    return next(name for name in files if name.endswith(INDEX))


def with_entry(key: bytes, **fields: Any) -> Any:
    """Replace a tensor's entry in the index."""

    def change(files: dict[str, bytes]) -> dict[str, bytes]:
        entries = dict(table_parts(files[index_of(files)]))
        entries[key] = encode("BundleEntryProto", fields)
        return {index_of(files): table_of(sorted(entries.items()))}

    return change


def with_index(data: bytes) -> Any:
    """Replace the index."""
    return lambda files: {index_of(files): data}


def shared_keys() -> bytes:
    """An index in which 20,000 keys share 64 KB with the first."""
    block = bytearray(b"\0\x80\x80\x04\0" + b"k" * 65536)
    block += b"\x80\x80\x04\x01\0" + b"a"
    for slot in range(20_000):
        block += b"\x81\x80\x04\x01\0" + bytes([slot % 250])
    return framed(bytes(block) + struct.pack("<II", 0, 1))


def framed(block: bytes, times: int = 1) -> bytes:
    """An index of one block of raw bytes, to which the index's index leads several times."""
    data = bytearray()
    handle = append(data, block)
    index = append(data, block_of([(bytes([slot >> 8, slot & 255]), handle) for slot in range(times)]))
    data += (handle + index).ljust(40, b"\0") + struct.pack("<Q", MAGIC)
    return bytes(data)


FLOAT = {"dtype": 1, "shape": shape_proto((4, 3))}
CHECKPOINTS = (
    saved("an index of nothing but its footer", with_index(b"\0" * 40 + struct.pack("<Q", MAGIC)), "checksum"),
    saved("an index whose keys share 64 KB 20000 times", with_index(shared_keys()), "share too much"),
    saved("an index that leads to one block 20000 times", with_index(framed(
        b"\0\1\0k" + b"\0" * 40_000 + struct.pack("<I", 10_000), 20_000)), "overlap"),
    saved("a tensor of 10**18 elements", with_entry(b"kernel", dtype=1, size=48, shape=shape_proto((10**9, 10**9))),
          "takes"),
    saved("a tensor behind the file's end", with_entry(b"kernel", **FLOAT, size=48, offset=2**62), "cut short"),
    saved("a tensor at a negative place", with_entry(b"kernel", **FLOAT, size=48, offset=-48), "negative"),
    saved("a tensor of a shard that is not there", with_entry(b"kernel", **FLOAT, size=48, shard_id=2**31), "shard"),
    saved("a tensor of 100 axes", with_entry(b"kernel", dtype=1, shape=shape_proto([1] * 100), size=4), "axes"),
    saved("a tensor of texts", with_entry(b"kernel", dtype=7, shape=shape_proto((4, 3)), size=48), "texts of"),
    saved("slices that leave a gap", with_entry(b"kernel", **FLOAT, slices=[
        {"extent": [{"start": 0, "length": 2}, {}]}, {"extent": [{"start": 0, "length": 2}, {}]}]), "make up", which=1),
    saved("slices that leave their tensor", with_entry(b"kernel", **FLOAT, slices=[
        {"extent": [{"start": -2, "length": 4}, {}]}]), "make up", which=1),
    saved("a slice of other axes", with_entry(b"kernel", **FLOAT, slices=[{"extent": [{"start": 0}]}]), "axes",
          which=1),
    saved("tracked objects that are numbers", with_entry(
        b"_CHECKPOINTABLE_OBJECT_GRAPH", dtype=1, size=12, shape=shape_proto((3,))), "expected one text", which=2),
    saved("a SavedModel without a graph", lambda files: {"saved_model.pb": b"\x08\x01"}, "without a graph"),
    saved("a .meta file of another message", lambda files: {"model.meta": b"\x12\x02\x0a\x00"}, "", which=4),
)  # fmt: skip

ROWS = (*FUNCTIONS, *COUNTS, *ELEMENTS, *SCHEMA, *CYCLES, *TEXTS, *CHECKPOINTS)

__all__ = ["ROWS"]
