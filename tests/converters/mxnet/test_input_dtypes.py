"""Dtypes of a symbol's inputs, from hints, annotations, stored parameters, and what shares a dtype."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.files.records import NNVMNode
from graphir.converters.mxnet.importing.input_dtypes import likely_dtypes, stated_dtype
from graphir.converters.mxnet.source import open_source
from graphir.graph import Graph
from graphir.tensor import Tensor
from graphir.types import DType
from tests.typed import tensor_type


def symbol(*rows: tuple[Any, ...]) -> str:
    """A symbol of rows (operator, name, attributes, inputs by name)."""
    places = {row[1]: place for place, row in enumerate(rows)}
    nodes = [
        {"op": op, "name": name, "attrs": attrs, "inputs": [[places[source], 0, 0] for source in sources]}
        for op, name, attrs, sources in rows
    ]
    return json.dumps({
        "nodes": nodes, "arg_nodes": [place for place, row in enumerate(rows) if row[0] == "null"],
        "heads": [[len(rows) - 1, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]},
    })  # fmt: skip


DENSE = symbol(
    ("null", "x", {}, ()), ("_mul_scalar", "twice", {"scalar": "2.0"}, ("x",)), ("null", "w", {}, ()),
    ("FullyConnected", "fc", {"num_hidden": "3", "no_bias": "True"}, ("twice", "w")),
)  # fmt: skip
WORDS = symbol(
    ("null", "x", {}, ()), ("null", "w", {}, ()),
    ("Embedding", "embed", {"input_dim": "9", "output_dim": "4"}, ("x", "w")), ("null", "y", {}, ()),
    ("elemwise_add", "sum", {}, ("embed", "y")),
)  # fmt: skip
CAST = symbol(
    ("null", "x", {}, ()), ("Cast", "half", {"dtype": "float16"}, ("x",)), ("null", "y", {}, ()),
    ("elemwise_add", "sum", {}, ("half", "y")),
)  # fmt: skip
ANNOTATED = symbol(
    ("null", "x", {}, ()), ("null", "y", {"__dtype__": "1"}, ()), ("elemwise_add", "sum", {}, ("x", "y"))
)  # fmt: skip


@pytest.mark.parametrize(("text", "given", "stored", "expected"), [
    (DENSE, {"w": DType.FLOAT16}, {}, {"x": DType.FLOAT16, "w": DType.FLOAT16}),
    (DENSE, {}, {"w": "float64"}, {"x": DType.FLOAT64, "w": DType.FLOAT64}), (DENSE, {}, {}, {}),
    (DENSE, {"x": DType.FLOAT16, "w": DType.FLOAT32}, {}, {}),
    (WORDS, {"y": DType.FLOAT16, "x": DType.INT32}, {}, {"x": DType.INT32, "w": DType.FLOAT16, "y": DType.FLOAT16}),
    (CAST, {"x": DType.FLOAT64}, {}, {"x": DType.FLOAT64, "y": DType.FLOAT16}), (CAST, {}, {}, {"y": DType.FLOAT16}),
    (ANNOTATED, {}, {}, {"x": DType.FLOAT64, "y": DType.FLOAT64}),
])  # fmt: skip
def test_what_follows(text: str, given: dict[str, DType], stored: dict[str, str], expected: dict[str, DType]) -> None:
    params = {name: Tensor.of(np.zeros((3, 3), dtype)) for name, dtype in stored.items()}
    assert likely_dtypes(read_symbol(text), params, given) == expected


@pytest.mark.parametrize(("op", "attrs", "annotations", "expected"), [
    ("null", {}, {"__dtype__": "2"}, DType.FLOAT16), ("null", {}, {"__dtype__": "float16"}, DType.FLOAT16),
    ("null", {}, {"__dtype__": "-1"}, None), ("null", {}, {}, None), ("null", {}, {"__dtype__": "nonsense"}, None),
    ("Cast", {"dtype": "int8"}, {}, DType.INT8), ("Cast", {"dtype": "int8"}, {"__dtype__": "2"}, DType.INT8),
])  # fmt: skip
def test_stated(op: str, attrs: dict[str, str], annotations: dict[str, str], expected: DType | None) -> None:
    assert stated_dtype(NNVMNode(op, "n", attrs, annotations)) == expected


def imported(text: str, **dtypes: str) -> Graph:
    return open_source(text).to_graph({"x": (2, 3)}, dtypes=dtypes)


@pytest.mark.parametrize(("text", "hints", "expected"), [
    (DENSE, {"w": "float16"}, "float16"), (DENSE, {"x": "float64"}, "float64"), (DENSE, {}, "float32"),
    (ANNOTATED, {}, "float64"),
])  # fmt: skip
def test_the_graph_has_the_dtype_throughout(text: str, hints: dict[str, str], expected: str) -> None:
    graph = imported(text, **hints)
    assert {str(value.dtype) for value in graph.values} - {"int64"} == {expected}


def test_an_assumption_is_a_decision_and_does_not_bind() -> None:
    graph = imported(DENSE)
    assert [str(decision) for decision in graph.decisions if decision.kind == "input dtype"] == [
        "[input dtype] x: nothing states it: float32, as MXNet binds it"
    ]
    assert (graph["x"].dtype, tensor_type(graph["x"].declared).dtype) == (DType.FLOAT32, None)
    assert not any(decision.kind == "input dtype" for decision in imported(DENSE, x="float16").decisions)
