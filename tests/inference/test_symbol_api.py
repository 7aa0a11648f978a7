"""Inferred types of imported symbols against what MXNet 1.9.1 answered, as far as it answered."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from graphir.converters.mxnet.source import open_source
from graphir.errors import GraphirError
from graphir.graph import Graph

ANSWERED = """
basic_ops g.infer_shape(a=(2,2), b=(2,2))
basic_ops g.infer_shape(a=(2,2))
basic_ops g.infer_shape_partial(a=(2,2))
mlp net.infer_shape(data=(100,200))
mlp net.infer_shape_partial()
mlp net.infer_type(data='float32')
custom_weight_name net.infer_shape(data=(4,7))
lhs_plus_rhs net.infer_shape(data1=(3,5))
lhs_plus_rhs net.infer_shape(data2=(3,5))
compose_call composed.infer_shape(data=(2,3))
group group.infer_shape(data=(4,9))
group group.infer_type(data='float32')
infer_simple c.infer_shape(a=(2,3))
infer_simple c.infer_shape(a=(2,0), b=(0,3))
infer_simple c.infer_type(a='float32')
infer_fc net.infer_shape_partial(fc1_weight=(10,100))
infer_fc net.infer_shape_partial(data=(0,100))
infer_fc net.infer_shape(data=(100,4,5,6))
infer_fc net.infer_shape(data=(100,))
infer_fc net.infer_shape_partial(data=(100,4,5,6))
infer_fc net.infer_type(data='float16')
infer_conv_bad n.infer_shape(data=(1,3,28,28))
infer_conv_bad n.infer_shape_partial(data=(0,3,28,28))
infer_conv_bad n.infer_shape_partial(data=(1,0,28,28))
infer_conv_bad n.infer_shape_partial(conv1_weight=(8,3,5,5))
infer_conv_bad bn.infer_shape(data=(1,3,28,28))
infer_conv_bad m.infer_shape(data=(1,3,28,28))
infer_conv_bad m.infer_shape(data=(1,3,28,28), skip=(1,8,0,0))
infer_conv_bad cc.infer_shape(data=(1,3,28,28), o=(1,2,24,24))
variable_sharing b.infer_shape(a=(2,3))
slicechannel_internals net.infer_shape(data=(2,1,8,8))
batchnorm_internals b.infer_shape(data=(2,3,4,5))
global_pool_tail n.infer_shape(data=(2,1536,8,8))
""".strip().splitlines()

REFUSED = """
infer_simple c.infer_shape(a=(2,3), b=(2,4))
infer_simple c.infer_shape(a=(2,3), b=(2,3,1))
infer_simple c.infer_type(a='float32', b='float16')
infer_simple c.infer_shape(nosuch=(2,3))
infer_simple c.infer_shape(a=3)
infer_simple c.infer_type(a='nosuch')
infer_fc net.infer_shape(data=(100,100), fc1_weight=(10,99))
infer_fc net.infer_shape(data=(100,100), fc1_weight=(11,100))
infer_fc net.infer_shape(data=(100,100), fc1_bias=(11,))
infer_conv_bad n.infer_shape(data=(1,3,4,4))
infer_conv_bad n.infer_shape(data=(1,3,5,5))
infer_conv_bad n.infer_shape(data=(1,3,28))
infer_conv_bad n.infer_shape(data=(1,3,28,28), conv1_weight=(8,4,5,5))
infer_conv_bad m.infer_shape(data=(1,3,28,28), skip=(1,8,23,24))
infer_conv_bad cc.infer_shape(data=(1,3,28,28), o=(1,2,23,24))
""".strip().splitlines()


@pytest.fixture(scope="module")
def cases(shared: Path) -> dict[str, Any]:
    """The golden cases by id."""
    held = json.loads((shared / "golden" / "symbol_api.json").read_text())
    return {case["id"]: case for case in held["cases"]}


def imported(case: dict[str, Any], call: str) -> Graph:
    """The symbol that a call was made on, imported with the shapes or dtypes that it was given (0: unknown)."""
    parsed = ast.parse(call, mode="eval").body
    assert isinstance(parsed, ast.Call)
    assert isinstance(parsed.func, ast.Attribute)
    given = {word.arg: ast.literal_eval(word.value) for word in parsed.keywords}
    source = open_source(case["symbol_json"][call.partition(".")[0]])
    if parsed.func.attr == "infer_type":
        return source.to_graph(dtypes=given, simplified=False, keep_loss=True)
    shapes = {name: tuple(size or None for size in shape) if isinstance(shape, tuple) else shape
              for name, shape in given.items()}  # fmt: skip
    return source.to_graph(shapes, simplified=False, keep_loss=True)


def arguments(symbol: str) -> list[str]:
    """The names of a symbol's arguments in MXNet's order; auxiliary states are none."""
    names = [node["name"] for node in json.loads(symbol)["nodes"] if node["op"] == "null"]
    return [name for name in names if not name.endswith(("moving_mean", "moving_var"))]


def agrees(found: object, answer: object) -> bool:
    """Whether what was found is what was answered, where an empty shape and a 0 answer nothing."""
    if isinstance(answer, dict):
        return str(found) == answer["__dtype__"]
    assert isinstance(answer, list)
    if not answer:
        return True
    return isinstance(found, tuple) and len(found) == len(answer) and all(
        size in (0, dim) for dim, size in zip(found, answer, strict=True)
    )  # fmt: skip


@pytest.mark.parametrize("row", ANSWERED)
def test_as_mxnet_answered(row, cases):
    id_, _, call = row.partition(" ")
    case = cases[id_]
    answers, results, _ = case["results"][call]
    graph = imported(case, call)
    names = arguments(case["symbol_json"][call.partition(".")[0]])
    assert len(names) == len(answers)
    kind = "dtype" if "infer_type" in call else "shape"
    labels = {name for name in names if name.endswith("label")}
    held = {name: getattr(graph[name], kind) for name in names if name in graph}
    assert set(names) - set(held) <= labels
    pairs = [(name, held[name], answer) for name, answer in zip(names, answers, strict=True) if name in held]
    pairs += [(value.name, getattr(value, kind), answer) for value, answer in zip(graph.outputs, results, strict=True)]
    assert [pair for pair in pairs if not agrees(*pair[1:])] == []


@pytest.mark.parametrize("row", REFUSED)
def test_refused_as_mxnet_refused(row, cases):
    id_, _, call = row.partition(" ")
    assert "__error__" in cases[id_]["results"][call]
    with pytest.raises(GraphirError):
        imported(cases[id_], call)
