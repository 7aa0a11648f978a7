"""Hostile files of graphir's own format."""

from __future__ import annotations

import copy
import json
import struct
from collections.abc import Callable
from typing import Any

from tests.attacks.attack import Attack
from tests.fuzz.json_ import LONG

ENTRY, WEIGHTS = "m.graphir.json", "m.graphir.safetensors"
FLOATS = ["float32", [3]]
DOCUMENT: dict[str, Any] = {
    "format": "graphir",
    "version": 1,
    "name": "g",
    "inputs": [{"name": "x", "type": FLOATS}],
    "parameters": [{"name": "w", "type": FLOATS, "stored": "w"}],
    "nodes": [{"name": "n", "op": "Mul", "inputs": ["x", "w"], "outputs": [{"name": "y", "type": FLOATS}]}],
    "outputs": ["y"],
    "weights": WEIGHTS,
}


def packed(header: Any, size: int = 12, length: int | None = None) -> bytes:
    """A safetensors file with that header and so many zeros."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + b"\0" * size


def entry(shape: Any = (3,), end: Any = 12, dtype: str = "F32", begin: Any = 0) -> dict[str, Any]:
    """A header of one tensor."""
    return {"w": {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}}


def document(name: str, change: Callable[[dict[str, Any]], object], refused: str = "", **more: Any) -> Attack:
    """Another document beside the right weights."""
    made = copy.deepcopy(DOCUMENT)
    change(made)
    return Attack(name, ENTRY, {ENTRY: json.dumps(made).encode(), WEIGHTS: packed(entry())}, refused, **more)


def text(name: str, old: str, new: str, refused: str = "") -> Attack:
    """The document with a part of its text replaced, beside the right weights."""
    made = json.dumps(DOCUMENT).replace(old, new, 1).encode("utf-8", "surrogatepass")
    return Attack(name, ENTRY, {ENTRY: made, WEIGHTS: packed(entry())}, refused)


def weights(name: str, content: bytes, refused: str = "") -> Attack:
    """The right document beside other weights."""
    return Attack(name, ENTRY, {ENTRY: json.dumps(DOCUMENT).encode(), WEIGHTS: content}, refused)


def typed(name: str, shape: Any, refused: str = "", **more: Any) -> Attack:
    """Another type of the input."""
    return document(
        f"an input of {name}", lambda made: made["inputs"][0].update(type=["float32", shape]), refused, **more
    )


def node(
    name: str, op: str, attributes: dict[str, Any], refused: str = "", inputs: Any = ("x",), **more: Any
) -> Attack:
    """Another node, whose result is of unknown type."""

    def change(made: dict[str, Any]) -> None:
        outputs = [{"name": "y0", "type": [None, None]}]
        made["nodes"] = [{"name": "n", "op": op, "attributes": attributes, "inputs": list(inputs), "outputs": outputs}]
        made["outputs"] = ["y0"]
        del made["weights"]
        made["parameters"] = []

    return document(name, change, refused, **more)


def in_graphs(depth: int) -> Callable[[dict[str, Any]], None]:
    """If in If."""

    def change(made: dict[str, Any]) -> None:
        made["inputs"].append({"name": "c", "type": ["bool", []]})
        inner: dict[str, Any] = {"name": "e", "inputs": [], "parameters": [], "nodes": [], "outputs": ["x"]}
        for slot in range(depth):
            branch = {
                "name": f"i{slot}",
                "op": "If",
                "inputs": ["c"],
                "outputs": [{"name": f"o{slot}", "type": FLOATS}],
                "attributes": {"results": 1},
                "subgraphs": [],
            }
            empty = {"name": "s", "inputs": [], "parameters": [], "nodes": [], "outputs": ["x"]}
            branch["subgraphs"] = [inner, empty]
            inner = {"name": f"g{slot}", "inputs": [], "parameters": [], "nodes": [branch], "outputs": [f"o{slot}"]}
        made["nodes"] = inner["nodes"]
        made["outputs"] = inner["outputs"]
        made["parameters"] = []
        del made["weights"]

    return change


def in_types(depth: int) -> Any:
    """Sequences of sequences."""
    found: Any = FLOATS
    for _ in range(depth):
        found = {"sequence": found}
    return found


def product(made: dict[str, Any]) -> None:
    """A product of stacked matrices whose result has no stated shape."""
    sides = [{"name": "x", "type": ["float32", None]}, {"name": "z", "type": ["float32", [2, 3, 5, 2]]}]
    outputs = [{"name": "y", "type": ["float32", None]}]
    nodes = [{"name": "n", "op": "MatMul", "inputs": ["x", "z"], "outputs": outputs}]
    made.update(inputs=sides, parameters=[], nodes=nodes)
    del made["weights"]


BIG = 2**63 - 1
ROWS = (
    document("a product of no stated shape", product, "must be known", target="result-symbol.json"),
    text("5,000 digits in the version", '"version": 1', f'"version": {LONG}', "digits"),
    text("5,000 digits in a size", "[3]", f"[{LONG}]", "digits"),
    text("5,000 digits in an expression", "[3]", f'["N + {LONG}"]'),
    text("5,000 digits with a sign", "[3]", f"[-{LONG}]", "digits"),
    text("a float for a size", "[3]", "[1e308]"),
    text("an endless float for a size", "[3]", "[1e999]"),
    text("NaN", '"version": 1', '"version": NaN', "no JSON"),
    text("a name twice", '"name": "g"', '"name": "g", "name": "h"', "twice"),
    text("half a pair", '"name": "g"', '"name": "\\ud800"'),
    text("brackets", "[3]", "[" * 100_000, "JSON"),
    text("brackets that close", "[3]", "[" * 3000 + "]" * 3000, ""),
    text("an endless expression", "[3]", '["' + "*".join(["(N+M+1)"] * 400) + '"]'),
    text("a power of sums", "[3]", '["' + "*".join(["(A+B+C+D+E+F+G+H)"] * 12) + '"]'),
    text("an expression of brackets", "[3]", '["' + "(" * 2000 + "N" + ")" * 2000 + '"]'),
    text("divisions in divisions", "[3]", '["' + "floor(" * 200 + "N" + "/2)" * 200 + '"]'),
    text("a maximum of maxima", "[3]", '["' + "max(N, " * 200 + "1" + ")" * 200 + '"]'),
    text("a division by zero", "[3]", '["N // 0"]'),
    text("a product beyond all", "[3]", '["' + "*".join(["999999999999999999 * N"] * 200) + '"]'),
    typed("65 axes", [1] * 65, "axes"),
    typed("64 axes", [1] * 64, "", target="result-symbol.json"),
    typed("a size below zero", [-1], "no size"),
    typed("a size beyond 63 bits", [2**63], "no size"),
    typed("huge sizes", [BIG, BIG, BIG]),
    typed("true for a size", [True]),
    typed("a list for a size", [[3]]),
    document("graphs in graphs", in_graphs(25)),
    document("graphs in graphs, deeper than the limit", in_graphs(60), "levels"),
    document("graphs in graphs, deeper than Python", in_graphs(180), ""),
    document("types in types", lambda made: made["inputs"][0].update(type=in_types(20))),
    document("types in types, deeper than Python", lambda made: made["inputs"][0].update(type=in_types(400)), ""),
    document("weights elsewhere", lambda made: made.update(weights="../m.graphir.safetensors"), "plain file name"),
    document("weights anywhere", lambda made: made.update(weights="/etc/passwd"), "plain file name"),
    document("weights with a NUL", lambda made: made.update(weights="a\0b"), "plain file name"),
    document("weights of a long name", lambda made: made.update(weights="x" * 5000), "weights"),
    document("weights that are half a pair", lambda made: made.update(weights="\ud800")),
    document("the document as its weights", lambda made: made.update(weights=ENTRY)),
    document("a value from far outside", lambda made: made.update(outputs=[{"name": "y", "up": 10**18}])),
    document(
        "elements that are not there", lambda made: made["parameters"][0].update(type=["float32", [10**12]]), "expected"
    ),
    document(
        "no elements of a huge tensor",
        lambda made: made.update(parameters=[{"name": "w", "type": ["float32", [0, BIG]], "data": []}]),
    ),
    document(
        "a list of 33 axes",
        lambda made: made.update(parameters=[{"name": "w", "type": ["int64", [1] * 33], "data": [1]}]),
    ),
    document("20,000 names of one output", lambda made: made.update(outputs=["y"] * 20_000)),
    document(
        "a thousand decisions of odd text", lambda made: made.update(decisions=[["\x1b[2J", "\u202e", "\0"]] * 1000)
    ),
    node("Split", "Split", {"num_outputs": 10**9}, "results"),
    node("Split of no parts", "Split", {"num_outputs": -1}),
    node("Foreign results", "Foreign", {"domain": "d", "op_type": "o", "results": 10**9}, ""),
    node("If results", "If", {"results": 10**9}, "results"),
    node("OptionalHasElement", "OptionalHasElement", {"x": 1}, "attribute"),
    node("ConstantOfShape", "ConstantOfShape", {"value": "nan", "dtype": "string"}),
    node("RandomNormal", "RandomNormal", {"shape": [BIG, BIG]}, inputs=()),
    node("MultiBoxPrior", "MaxRoiPool", {"pooled_shape": [BIG, BIG], "spatial_scale": 1e308}),
    node("Pad of everything", "AveragePool", {"kernel_shape": [BIG], "strides": [0], "padding": [[-BIG, BIG]]}),
    node("an attribute of 100,000 numbers", "Transpose", {"perm": list(range(100_000))}),
    node("an attribute of 100 lists", "Transpose", {"perm": [[[[[[[1]]]]]]]}),
    node("a window of nothing", "MaxPool", {"kernel_shape": []}),
    weights("a header beyond the file", packed(entry(), length=2**63), "header"),
    weights("a header of nothing", packed(b"", length=0), "begin"),
    weights("a header of brackets", packed(b'{"w": ' + b"[" * 100_000), "JSON"),
    weights("a header of 5,000 digits", packed(b'{"w": ' + LONG.encode() + b"}"), "digits"),
    weights("offsets beyond 64 bits", packed(entry(end=2**70)), "data_offsets"),
    weights("offsets below zero", packed(entry(begin=-4, end=8)), "data_offsets"),
    weights("offsets that are floats", packed(entry(end=12.0)), "data_offsets"),
    weights("a product beyond 64 bits", packed(entry((2**62, 2**62), 0)), "takes"),
    weights("a zero and a huge size", packed(entry((0, 2**62), 0), 0)),
    weights("a tensor over another", packed({**entry(), "v": entry()["w"]}), "overlaps"),
    weights("a hole", packed({**entry(), "v": {"dtype": "F32", "shape": [1], "data_offsets": [16, 20]}}, 20), "hole"),
    weights("a tensor cut short", packed(entry(), 4), "cut short"),
    weights("an unknown type", packed(entry(dtype="F\x00")), "dtype"),
    weights("a list for a header", packed([1]), "begin"),
    weights("metadata that is no object", packed({**entry(), "__metadata__": 5})),
    weights("nothing", b"", "bytes"),
)

__all__ = ["DOCUMENT", "ENTRY", "ROWS", "WEIGHTS"]
