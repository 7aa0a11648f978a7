"""Graphs written for MXNet: evaluated again they compute the same, and what MXNet cannot say is listed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import graphir
from graphir.converters.mxnet import from_symbol, save, to_symbol
from graphir.converters.mxnet.exporting.exporter import export_graph
from graphir.converters.mxnet.exporting.ops import export_table
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.files.params import read_params, split_prefixes
from graphir.converters.mxnet.importing.ops import import_table
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.converters.mxnet.source import open_source
from graphir.converters.onnx import to_model
from graphir.converters.onnx.evaluator import onnx_terms
from graphir.errors import ExportFailure, GraphirError, UnsupportedOpError
from graphir.graph import Graph
from graphir.ops import (
    activation,
    convolution,
    elementwise,
    indexing,
    linear,
    normalization,
    pooling,
    sequence,
    shape,
    text,
)
from graphir.ops.base import Operator
from graphir.padding import Explicit, Same
from graphir.types import DType, TensorType
from tests.equivalence.case import Case
from tests.equivalence.live import LivePair
from tests.equivalence.table import CASES, thinned
from tests.requirements import needing

Array = NDArray[Any]
TOLERANCE = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-9}
SUPPORTED = tuple(case for case in CASES if case.op in import_table())


def imported(case: Case) -> tuple[Graph, dict[str, Array]]:
    """The case as a graph, and what to feed it with."""
    arrays = case.arrays()
    weights = {name: arrays[name] for name in case.variables("param", "aux")}
    data = {name: arrays[name] for name in case.variables("data", "label")}
    shapes = {name: array.shape for name, array in data.items()}
    dtypes = {name: array.dtype for name, array in data.items()}
    return from_symbol(case.symbol_json(), weights, shapes, dtypes=dtypes, strict=case.is_special), data


# What has no word in MXNet, or sizes that follow from values.
UNWRITTEN_OPERATORS = {
    *("_contrib_MultiProposal", "_contrib_Proposal", "_contrib_boolean_mask", "_npi_unique", "_npx_nonzero"),
}
UNWRITTEN_CASES = {"_contrib_DeformablePSROIPooling-samples", "_contrib_RROIAlign-adaptive"}


def is_written(case: Case) -> bool:
    """Whether the case's graph has words in MXNet; the deletion of places that are computed has none."""
    return not (
        case.op in UNWRITTEN_OPERATORS or case.name in UNWRITTEN_CASES or case.name.startswith("_npi_delete-places")
    )


WRITTEN = tuple(case for case in SUPPORTED if is_written(case))
UNWRITTEN = tuple(case for case in SUPPORTED if not is_written(case))


def distance(found: Array, expected: Array) -> float:
    """The largest difference relative to the largest finite magnitude; infinite where only one is finite."""
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    left, right = found.astype(np.float64), expected.astype(np.float64)
    odd = ~np.isfinite(right)
    if not np.array_equal(odd, ~np.isfinite(left)) or not np.array_equal(left[odd], right[odd], equal_nan=True):
        return float("inf")
    scale = max(float(np.abs(right[~odd]).max(initial=0.0)), 1e-30)
    return float(np.abs(left[~odd] - right[~odd]).max(initial=0.0)) / scale


def fed(text: str, params: dict[str, Array], data: dict[str, Array]) -> dict[str, Array]:
    """All arrays that the symbol wants, by plain name."""
    arguments, states, _ = split_prefixes(params)
    wanted = {node["name"] for node in json.loads(text)["nodes"] if node["op"] == "null"}
    return {name: array for name, array in (arguments | states | data).items() if name in wanted}


@pytest.mark.parametrize("case", UNWRITTEN, ids=lambda case: case.name)
def test_what_cannot_be_written_is_refused(case: Case) -> None:
    with pytest.raises(GraphirError):
        export_graph(imported(case)[0], onnx_terms())


@pytest.mark.parametrize("case", thinned(WRITTEN))
def test_written_case_computes_the_same(case: Case) -> None:
    expected = list(evaluate(read_symbol(case.symbol_json()), case.arrays()).values())
    graph, data = imported(case)
    text, params = to_symbol(graph)
    found = list(evaluate(read_symbol(text), fed(text, params, data)).values())
    limits = [max(TOLERANCE.get(str(array.dtype), 0.0), case.tolerance or 0.0) for array in expected]
    errors = [distance(one, other) for one, other in zip(found, expected, strict=True)]
    assert all(error <= limit for error, limit in zip(errors, limits, strict=True)), errors


@pytest.mark.live
@pytest.mark.parametrize("case", thinned(WRITTEN))
def test_live_mxnet_computes_the_same(case: Case, live_pair: LivePair) -> None:
    graph, data = imported(case)
    text, params = to_symbol(graph)
    with needing("MXNet"):
        found = list(live_pair.run(text, fed(text, params, data), onednn=case.onednn).values())
    expected = list(evaluate(read_symbol(case.symbol_json()), case.arrays()).values())
    limits = [max(TOLERANCE.get(str(array.dtype), 0.0), case.tolerance or 0.0) for array in expected]
    errors = [distance(one, other) for one, other in zip(found, expected, strict=True)]
    assert all(error <= limit for error, limit in zip(errors, limits, strict=True)), errors


CHECKPOINTS = (
    *("gluoncv-cifar-resnet20-v1", "gluoncv-cifar-resnet20-v2", "go-test-linear", "mtcnn-det1-pnet"),
    *("mtcnn-det2-rnet", "mtcnn-det3-onet", "toy-lenet-miraclewkf", "xdl-blaze-dnn"),
)


def checkpoint(shared: Path, model: str) -> tuple[Graph, dict[str, Array], dict[str, Array]]:
    """A real model's graph, the inputs of its golden capture, and the outputs."""
    folder = shared / "models" / "mxnet" / model
    source = open_source(folder / "model-symbol.json", folder / "model-0000.params")
    facts = json.loads((folder / "golden.json").read_text())
    names = {node.name for node in source.symbol.nodes}
    graph = source.to_graph({name: tuple(shape) for name, shape in facts["inputs"].items() if name in names})
    with np.load(folder / "golden.npz") as archive:
        golden = {name: archive[name] for name in archive.files}
    inputs = {key.removeprefix("input:"): array for key, array in golden.items() if key.startswith("input:")}
    outputs = {key.split(":", 2)[2]: array for key, array in golden.items() if key.startswith("output:")}
    return graph, inputs, outputs


@pytest.mark.parametrize("model", CHECKPOINTS)
def test_real_model_computes_the_same(shared: Path, model: str, tmp_path: Path) -> None:
    graph, inputs, expected = checkpoint(shared, model)
    files = save(graph, tmp_path / "again-symbol.json")
    assert [file.name for file in files] == ["again-symbol.json", "again-0000.params"]
    text = files[0].read_text()
    params = {name: tensor.numpy() for name, tensor in read_params(files[1]).items()}
    found = evaluate(read_symbol(text), fed(text, params, inputs))
    assert list(found) == list(expected)
    assert max(distance(found[name], expected[name]) for name in expected) <= 1e-4


@pytest.mark.parametrize("model", CHECKPOINTS)
def test_real_model_comes_back_the_same(shared: Path, model: str, tmp_path: Path) -> None:
    graph, _, _ = checkpoint(shared, model)
    save(graph, tmp_path / "again-symbol.json")
    again = graphir.load(tmp_path / "again-symbol.json")
    assert operators(again) == operators(graph)
    assert [repr(value) for value in again.outputs] == [repr(value) for value in graph.outputs]
    assert {value.name for value in again.parameters if value.sources} <= {value.name for value in graph.parameters}


@pytest.mark.parametrize("model", ["gluoncv-cifar-resnet20-v2", "mtcnn-det1-pnet", "toy-lenet-miraclewkf"])
def test_real_model_through_onnx_computes_the_same(shared: Path, model: str, tmp_path: Path) -> None:
    graph, inputs, expected = checkpoint(shared, model)
    graphir.save(graph, tmp_path / "model.onnx")
    graphir.convert(tmp_path / "model.onnx", tmp_path / "again-symbol.json")
    text = (tmp_path / "again-symbol.json").read_text()
    params = {name: tensor.numpy() for name, tensor in read_params(tmp_path / "again-0000.params").items()}
    found = evaluate(read_symbol(text), fed(text, params, inputs))
    assert list(found) == list(expected)
    assert max(distance(found[name], expected[name]) for name in expected) <= 1e-4


def operators(graph: Graph) -> list[str]:
    """The operators in order, less Flatten, which FullyConnected does itself (of a matrix it is nothing)."""
    return [str(node.op) for node in graph.nodes if not isinstance(node.op, shape.Flatten)]


def unary_graph(op: Operator, *sizes: int, dtype: DType = DType.FLOAT32, **weights: tuple[int, ...]) -> Graph:
    """One operator on `x` of these sizes and weights of ones."""
    graph = Graph()
    data = graph.add_input("x", TensorType(dtype, sizes))
    held = [graph.constant(np.ones(wanted, np.float32), name=name) for name, wanted in weights.items()]
    graph.set_outputs(graph.add_node(op, (data, *held), name="y").outputs[:1])
    return graph


def flattened_dense() -> Graph:
    graph = Graph()
    data = graph.add_input("x", TensorType(DType.FLOAT32, (2, 3, 4)))
    flat = graph.add(shape.Flatten(), data, name="flat")
    weight, bias = (graph.constant(np.ones(sizes, np.float32), name=name) for name, sizes in (("w", (5, 12)), ("b", 5)))
    graph.set_outputs([graph.add(linear.Gemm(transB=True), flat, weight, bias, name="fc", output="fc_output")])
    return graph


def unflattened_dense() -> Graph:
    graph = Graph()
    data = graph.add_input("x", TensorType(DType.FLOAT32, (2, 3, 4)))
    weight, bias = (graph.constant(np.ones(sizes, np.float32), name=name) for name, sizes in (("w", (5, 4)), ("b", 5)))
    product = graph.add(linear.MatMul(), data, graph.add(shape.Transpose((1, 0)), weight, name="t"), name="product")
    graph.set_outputs([graph.add(elementwise.Add(), product, bias, name="fc", output="fc_output")])
    return graph


UNEVEN = Explicit(((0, 1), (1, 0)))
EXPECTED: tuple[tuple[str, Callable[[], Graph], list[str]], ...] = (
    ("flatten and Gemm", flattened_dense, ["FullyConnected"]),
    ("MatMul and bias", unflattened_dense, ["FullyConnected"]),
    ("even pads", lambda: unary_graph(convolution.Conv((3, 3)), 1, 2, 5, 5, w=(4, 2, 3, 3)), ["Convolution"]),
    ("uneven pads", lambda: unary_graph(convolution.Conv(padding=UNEVEN), 1, 2, 5, 5, w=(4, 2, 3, 3)),
     ["Pad", "Convolution"]),
    ("SAME", lambda: unary_graph(convolution.Conv(strides=(2, 2), padding=Same()), 1, 2, 4, 4, w=(4, 2, 3, 3)),
     ["Pad", "Convolution"]),
    ("ceil mode", lambda: unary_graph(pooling.MaxPool((3, 3), (2, 2), ceil_mode=True), 1, 2, 6, 6), ["Pooling"]),
    ("window behind the data", lambda: unary_graph(pooling.MaxPool((1, 1), (2, 2), ceil_mode=True), 1, 2, 6, 6),
     ["Pooling", "slice"]),
    ("average of uneven pads", lambda: unary_graph(pooling.AveragePool((2, 2), padding=UNEVEN), 1, 2, 5, 5),
     ["Pad", "Pooling", "broadcast_div"]),
    ("relu of integers", lambda: unary_graph(activation.Relu(), 2, 2, dtype=DType.INT32), ["relu"]),
)  # fmt: skip


@pytest.mark.parametrize("build, operators", [row[1:] for row in EXPECTED], ids=[row[0] for row in EXPECTED])
def test_what_is_written(build: Callable[[], Graph], operators: list[str]) -> None:
    graph = build()
    symbol = read_symbol(to_symbol(graph)[0])
    written = [node.op for node in symbol.nodes if node.op != "null"]
    assert sorted(written) == sorted(operators)
    assert symbol.version == 10901


def test_a_scalar_beside_data_is_an_attribute() -> None:
    graph = Graph()
    data = graph.add_input("x", TensorType(DType.FLOAT32, (2, 3)))
    graph.set_outputs([graph.add(elementwise.Sub(), graph.constant(2.5, DType.FLOAT32), data, output="y_output")])
    text, params = to_symbol(graph)
    assert [(node.op, node.name, node.attrs) for node in read_symbol(text).nodes if node.op != "null"] == [
        ("_rminus_scalar", "y", {"scalar": "2.5"})
    ]
    assert params == {}


def test_statistics_are_auxiliary_states_even_where_they_are_shared() -> None:
    graph = Graph()
    data = graph.add_input("x", TensorType(DType.FLOAT32, (2, 3, 4)))
    shared = graph.add_parameter("ones", type_=TensorType(DType.FLOAT32, (3,)))
    mean = graph.constant(np.zeros(3, np.float32), name="mean")
    ones = graph.constant(np.ones(3, np.float32), name="unit")
    first = graph.add(normalization.BatchNormalization(), data, ones, mean, mean, ones, name="bn")
    graph.set_outputs([graph.add(normalization.BatchNormalization(), first, shared, mean, mean, ones, name="bn2")])
    _, params = to_symbol(graph)
    states = {name for name in params if name.startswith("aux:")}
    arguments = {name for name in params if name.startswith("arg:")}
    assert not {name[4:] for name in states} & {name[4:] for name in arguments}
    assert len(states) == 2


def sequence_graph() -> Graph:
    graph = Graph()
    data = graph.add_input("x", TensorType(DType.FLOAT32, (2, 3)))
    graph.set_outputs([graph.add(sequence.SequenceConstruct(), data, name="y")])
    return graph


def dynamic_graph() -> Graph:
    graph = Graph()
    data = graph.add_input("x", TensorType(DType.FLOAT32, (2, 3)))
    sizes = graph.add_input("sizes", TensorType(DType.INT64, (1,)))
    graph.set_outputs([graph.add(shape.Reshape(), data, sizes, name="y")])
    return graph


REFUSALS: tuple[tuple[str, Callable[[], Graph], str], ...] = (
    ("uint64", lambda: unary_graph(elementwise.Identity(), 2, dtype=DType.UINT64), "no tensors of uint64"),
    ("complex", lambda: unary_graph(elementwise.Identity(), 2, dtype=DType.COMPLEX64), "no tensors of complex64"),
    ("strings", lambda: unary_graph(elementwise.Identity(), 2, dtype=DType.STRING), "no tensors of string"),
    ("sequence", sequence_graph, "tensors only"),
    ("shape as an input", dynamic_graph, "sizes is an input, which can be bound to a constant"),
    ("elements decide sizes", lambda: unary_graph(indexing.NonZero(), 2, 3), "depends on its input's elements"),
    ("seven axes", lambda: unary_graph(shape.Transpose((6, 5, 4, 3, 2, 1, 0)), *range(1, 8)), "up to 6 axes, found 7"),
    ("strings split", lambda: unary_graph(text.StringSplit(), 2, dtype=DType.STRING), "no tensors of string"),
)  # fmt: skip


@pytest.mark.parametrize("build, text", [row[1:] for row in REFUSALS], ids=[row[0] for row in REFUSALS])
def test_refusal(build: Callable[[], Graph], text: str) -> None:
    with pytest.raises(UnsupportedOpError, match=text):
        to_symbol(build())


def test_all_gaps_are_listed_at_once() -> None:
    graph = Graph()
    data = graph.add_input("x", TensorType(DType.FLOAT32, (2, 3)))
    where = graph.add_input("where", TensorType(DType.INT64, (1,)))
    first = graph.add(shape.Reshape(), data, where, name="first")
    second = graph.add(indexing.NonZero(), graph.add(elementwise.Abs(), first), name="second")
    third = graph.add(shape.Reshape(), second, graph.add_input("there", TensorType(DType.INT64, (1,))), name="third")
    graph.set_outputs([third])
    with pytest.raises(UnsupportedOpError) as raised:
        to_symbol(graph)
    assert sorted((gap.operator, name) for gap in raised.value.gaps for name in gap.nodes) == [
        ("NonZero", "second"),
        ("Reshape", "first"),
        ("Reshape", "third"),
    ]


@pytest.mark.parametrize("dtype", [DType.FLOAT32, DType.BOOL, DType.INT16])
@pytest.mark.parametrize("sizes", [(2, 3), ()])
def test_an_input_that_is_an_output_stays_as_it_is(dtype: DType, sizes: tuple[int, ...]) -> None:
    graph = Graph()
    data = graph.add_input("x", TensorType(dtype, sizes))
    graph.set_outputs([data, graph.add(elementwise.Identity(), data, name="y")])
    symbol = read_symbol(to_symbol(graph)[0])
    (first, _), (second, _) = symbol.heads
    assert (symbol.nodes[first].op, symbol.nodes[first].name) == ("null", "x")
    assert symbol.nodes[second].name == "y"


def test_what_no_output_needs_is_not_refused() -> None:
    graph = Graph()
    data = graph.add_input("x", TensorType(DType.FLOAT32, (2, 3)))
    graph.add(indexing.NonZero(), data, name="unused")
    graph.set_outputs([graph.add(elementwise.Abs(), data, name="y")])
    assert [node.op for node in read_symbol(to_symbol(graph)[0]).nodes] == ["null", "abs"]


def test_nothing_is_written_on_failure(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOpError):
        graphir.save(dynamic_graph(), tmp_path / "x-symbol.json")
    with pytest.raises(ExportFailure, match=r"something-symbol\.json"):
        save(unary_graph(activation.Relu(), 2, 3), tmp_path / "x.json")
    assert not list(tmp_path.iterdir())


def test_the_table_knows_only_operators() -> None:
    assert all(issubclass(op, Operator) for op in export_table())


def test_verify_computes_the_written_files(tmp_path: Path) -> None:
    digits = Path(__file__).resolve().parents[3] / "models" / "digits"
    graphir.convert(digits, tmp_path / "digits.onnx")
    report = graphir.convert(tmp_path / "digits.onnx", tmp_path / "back-symbol.json", verify=True, against="reference")
    assert report.verification is not None
    assert report.verification.ok
    assert report.verification.reference == "graphir's numpy reference of MXNet"


@pytest.mark.parametrize("fixed", [False, True])
def test_statistics_that_training_leaves_as_they_are_are_said_to_mxnet_and_not_to_onnx(fixed: bool) -> None:
    graph = Graph("norm")
    vectors = [graph.constant(np.full(3, number, np.float32), name=f"v{number}") for number in (1, 2, 3, 4)]
    op = normalization.BatchNormalization(fixed_statistics=fixed)
    graph.set_outputs([graph.add(op, graph.add_input("x", TensorType(DType.FLOAT32, (2, 3))), *vectors, name="y")])
    nodes = json.loads(to_symbol(graph)[0])["nodes"]
    stated = [node["attrs"].get("use_global_stats") for node in nodes if node["op"] == "BatchNorm"]
    assert stated == (["True"] if fixed else [None])
    (node,) = to_model(graph).graph.node
    assert [attribute.name for attribute in node.attribute] == []
