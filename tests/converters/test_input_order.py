"""Inputs and outputs stand in the source's order in every front end and round trip: models are fed by position."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given, settings

import graphir
from graphir.converters.mxnet import from_symbol, mx, to_symbol
from graphir.converters.onnx import from_model, to_model
from graphir.converters.tensorflow import load as load_graph_def
from graphir.graph import Graph
from graphir.passes.bind import bind_inputs
from tests.converters.input_programs import SIZE, Program, as_graph_def, as_onnx, as_symbol, output_names, programs

EXAMPLES = settings(max_examples=25)


def run_by_position(model: Any, arrays: list[Any]) -> list[Any]:
    data = model if isinstance(model, str) else model.SerializeToString()
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]
    return list(session.run(None, dict(zip(names, arrays, strict=True))))


def check(model: Any, program: Program) -> None:
    found, expected = run_by_position(model, program.arrays()), program.expected()
    assert len(found) == len(expected)
    assert all(np.allclose(one, other, 1e-4, 1e-4) for one, other in zip(found, expected, strict=True))


@EXAMPLES
@given(programs())
def test_onnx_keeps_its_inputs(program: Program) -> None:
    graph = from_model(as_onnx(program))
    assert tuple(value.name for value in graph.inputs) == program.inputs
    check(to_model(graph), program)


@EXAMPLES
@given(programs())
def test_mxnet_has_the_order_of_list_inputs(program: Program) -> None:
    listed = Program(program.outputs, program.met())
    shapes = dict.fromkeys(listed.inputs, (SIZE, SIZE))
    graph = from_symbol(as_symbol(program), None, shapes)
    assert tuple(value.name for value in graph.inputs) == listed.inputs
    check(to_model(graph), listed)


@EXAMPLES
@given(programs(unused=False))
def test_tensorflow_has_the_order_of_its_placeholders(program: Program) -> None:
    graph = load_graph_def(as_graph_def(program), outputs=output_names(program))
    assert tuple(value.name for value in graph.inputs) == program.inputs
    check(to_model(graph), program)


@EXAMPLES
@given(programs(unused=False))
def test_tensorflow_has_the_order_of_the_inputs_asked_for(program: Program) -> None:
    source = as_graph_def(program, sorted(program.inputs))
    graph = load_graph_def(source, inputs=program.inputs, outputs=output_names(program))
    check(to_model(graph), program)


def test_json_keeps_the_order(tmp_path: Path) -> None:
    program = Program((("sub", "b", "zeta"), ("product", "a", "b")), ("m", "zeta", "b", "a"))
    path = tmp_path / "model.graphir.json"
    graphir.save(from_model(as_onnx(program)), path)
    check(to_model(graphir.load(path)), program)


@EXAMPLES
@given(programs(unused=False))
def test_export_to_mxnet_tells_another_order(program: Program) -> None:
    graph = from_model(as_onnx(program))
    text, params = to_symbol(graph)
    told = [decision.text for decision in graph.decisions if decision.kind == "order of inputs"]
    listed = Program(program.outputs, tuple(mx.sym.load_json(text).list_inputs()))
    assert told == ([] if listed.inputs == program.inputs else [
        f"MXNet lists them as {', '.join(listed.inputs)}: bind them by name"
    ])  # fmt: skip
    back = from_symbol(text, params, dict.fromkeys(listed.inputs, (SIZE, SIZE)))
    arrays = dict(zip(program.inputs, program.arrays(), strict=True))
    found = run_by_position(to_model(back), [arrays[name] for name in listed.inputs])
    assert all(np.allclose(one, other, 1e-4, 1e-4) for one, other in zip(found, program.expected(), strict=True))


def test_a_bound_input_leaves_the_others_in_place() -> None:
    program = Program((("sub", "b", "a"), ("product", "m", "b")), ("m", "zeta", "b", "a"))
    graph = from_model(as_onnx(program))
    bind_inputs(graph, {"b": np.zeros((SIZE, SIZE), np.float32)})
    assert [value.name for value in graph.inputs] == ["m", "zeta", "a"]


def test_inputs_with_a_default_leave_the_others_in_place() -> None:
    program = Program((("sub", "b", "a"), ("product", "m", "b")), ("m", "zeta", "b", "a"))
    model = as_onnx(program)
    model.graph.initializer.append(onnx.numpy_helper.from_array(program.arrays()[2], "b"))
    graph = from_model(model)
    assert [value.name for value in graph.inputs] == ["m", "zeta", "a"]
    arrays = program.arrays()
    found = run_by_position(to_model(graph), [arrays[0], arrays[1], arrays[3]])
    np.testing.assert_allclose(found[0], program.expected()[0], rtol=1e-5)


@pytest.mark.parametrize("names", [["a"], ["a", "b", "b"], ["a", "b", "c"], ["a", "a"]])
def test_only_the_inputs_can_be_ordered(names: list[str]) -> None:
    graph = Graph()
    for name in ("a", "b"):
        graph.add_input(name)
    graph.add_parameter("c")
    with pytest.raises(graphir.GraphError, match="they are a, b; given were"):
        graph.order_inputs([graph[name] for name in names])
    assert [value.name for value in graph.inputs] == ["a", "b"]
