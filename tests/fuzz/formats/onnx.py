"""ONNX: models that graphir writes, models of functions and graphs inside nodes, and weights in another file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from tests.fuzz.case import Format, Model, Random
from tests.fuzz.formats.mxnet import mutate_symbol
from tests.fuzz.json_ import TEXTS
from tests.fuzz.protobuf import mutate_protobuf
from tests.fuzz.seeds import LazySeeds, converted

WRITTEN = (
    "g (float[N] x) => (float[N] y) { y = local.twice(x) } "
    "<domain: \"local\", opset_import: [\"\" : 17]> twice (a) => (b) { c = Add(a, a) b = Mul(c, c) }",
    "g (bool c, float[2] x) => (float[2] y) { y = If(c) <then_branch = t () => (float[2] p) { p = Neg(x) }, "
    "else_branch = e () => (float[2] q) { q = Abs(x) }> }",
    "g (float[2] x) => (float[2] y, float[k, 2] z) <int64 n = {4}, bool t = {1}> { y, z = Loop(n, t, x) <body = b "
    "(int64 i, bool c, float[2] s) => (bool d, float[2] u, float[2] v) { d = Identity(c) u = Add(s, s) v = Neg(u) }> }",
    "g (float[3, 2] x) => (float[2] y, float[3, 2] z) <float[2] o = {0, 0}> { y, z = Scan(o, x) <num_scan_inputs = 1, "
    "body = b (float[2] s, float[2] e) => (float[2] u, float[2] v) { u = Add(s, e) v = Neg(u) }> }",
    "g (float[4, 6] x) => (float[2, 6] a) <int64[2] n = {2, 2}> { a, b = Split <axis = 0> (x, n) }",
    "g (float[4, 6] x) => (float[2, 6] a) { s = SplitToSequence <axis = 0> (x) i = Constant <value_int = 1> () "
    "a = SequenceAt(s, i) }",
    "g (float[N, 3] x) => (float y) <int64[2] s = {8, 3}> { z = ConstantOfShape <value = float[1] {2}> (s) "
    "w = Shape(z) v = Expand(x, w) m = ReduceSum <keepdims = 0> (v) y = Cast <to = 1> (m) }",
    "g (int64 n) => (int64[k] r, int64[m] t) <int64 o = {0}, int64 e = {9}, int64 d = {2}, int64[1] p = {3}> "
    "{ r = Range(o, e, d) q = Range(o, n, d) t = Tile(q, p) }",
    "g (float[2, 3] x) => (float[6, 6] y) <int64[2] r = {3, 2}, int64[1] a = {1}> { y = Tile(x, r) }",
    "g (int64[3] i) => (float[3, 5] y) <int64 d = {5}, float[2] v = {0, 1}> { y = OneHot(i, d, v) }",
    "g (float[1, 3, 8, 8] x) => (float[1, 4, 8, 8] y) <float[4, 3, 3, 3] w> "
    "{ y = Conv <pads = [1, 1, 1, 1], kernel_shape = [3, 3]> (x, w) }",
    "g (string[2] x) => (string[2] y) { y = StringNormalizer <case_change_action = \"LOWER\"> (x) }",
)  # fmt: skip


def _of_text(text: str) -> Model:
    import onnx.parser

    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17, "local" : 1]>\n{text}')
    return Model("m.onnx", {"m.onnx": model.SerializeToString()})


def _with_weights(kind: str) -> Model:
    import onnx

    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]>\n'
        "g (float[3] x) => (float[3] y) <float[3] w = {1, 2, 3}, int64[2] k = {1, 2}> { y = Mul(x, w) }"
    )
    files = {}
    weight = model.graph.initializer[0]
    if kind == "sparse":
        values = onnx.numpy_helper.from_array(np.array([5.0], np.float32), "w")
        places = onnx.numpy_helper.from_array(np.array([1], np.int64))
        del model.graph.initializer[0]
        model.graph.sparse_initializer.append(onnx.SparseTensorProto(values=values, indices=places, dims=[3]))
    else:
        weight.CopyFrom(onnx.numpy_helper.from_array(np.arange(3, dtype=np.float32), "w"))
    if kind == "external":
        files["w.bin"] = weight.raw_data
        weight.ClearField("raw_data")
        weight.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", "w.bin"), ("offset", "0"), ("length", "12")):
            weight.external_data.add(key=key, value=value)
    return Model("m.onnx", {"m.onnx": model.SerializeToString(), **files})


@cache
def _written() -> list[Model]:
    return [*map(_of_text, WRITTEN), *map(_with_weights, ("sparse", "external", "raw"))]


def seeds() -> LazySeeds:
    """Half of them are what is written here, half are rows of the operators' tables as graphir exports them."""
    from tests.equivalence.table import CASES

    return LazySeeds(2 * len(CASES), lambda slot: (
        _written()[slot // 2 % len(_written())] if slot % 2 else converted(CASES[slot // 2], "m.onnx")
    ))  # fmt: skip


@cache
def _operators() -> tuple[str, ...]:
    import onnx.defs

    return tuple(sorted({schema.name for schema in onnx.defs.get_all_schemas()}))


def mutate(chance: Random, model: Model, seeds: Sequence[Model]) -> Model:
    """Another protobuf; names may become those of other operators, places those of other files."""
    if model.entry != "m.onnx":  # a row that cannot be said in ONNX
        return mutate_symbol(chance, model, seeds)
    texts = TEXTS if chance.random() < 0.5 else (*_operators(), "w.bin", "m.onnx", "/etc/passwd", "../w.bin", "local")
    return model.with_file("m.onnx", mutate_protobuf(chance, model.files["m.onnx"], texts))


ONNX = Format("onnx", seeds, mutate)

__all__ = ["ONNX"]
