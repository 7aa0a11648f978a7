"""load(save(graph)) is the graph, and saving it again gives the same bytes."""

from __future__ import annotations

import json
import math
import tempfile
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from graphir.errors import ExportFailure, FormatError, UnsupportedOpError
from graphir.graph import Graph
from graphir.ops import Operator, operator_table
from graphir.ops.base import operator
from graphir.ops.elementwise import Add, Identity
from graphir.ops.foreign import Foreign
from graphir.serial.attributes import attributes_to_json, fields_of, operator_from_json
from graphir.serial.equal import first_difference, same_attribute, same_tensor
from graphir.serial.notation import (
    dim_from_json,
    dim_to_json,
    float_from_json,
    float_to_json,
    parse_json,
    type_from_json,
    type_to_json,
)
from graphir.serial.reader import load_graph
from graphir.serial.schema import schema
from graphir.serial.writer import save_graph
from graphir.structure.checks import check_graph
from graphir.tensor import Tensor
from graphir.types import Dim, DType, MapType, TensorType, symbol
from tests.typed import present, untyped

from . import strategies

SCHEMA = Draft202012Validator(schema())
FLOAT = TensorType(DType.FLOAT32, (2, 3))


def pair(path: Path) -> tuple[bytes, bytes | None]:
    """The bytes of both files."""
    weights = path.with_name(path.name.replace(".json", ".safetensors"))
    return path.read_bytes(), weights.read_bytes() if weights.exists() else None


def saved_and_loaded(graph: Graph, folder: Path, **options: Any) -> Graph:
    """The graph that comes back, after a check that writing it again gives the same bytes and that the schema holds."""
    save_graph(graph, folder / "a.graphir.json", **options)
    loaded = load_graph(folder / "a.graphir.json")
    check_graph(loaded)  # types that no rule gave are stated on purpose
    (folder / "again").mkdir(exist_ok=True)
    save_graph(loaded, folder / "again" / "a.graphir.json", **options)
    assert pair(folder / "again" / "a.graphir.json") == pair(folder / "a.graphir.json")
    assert pair(folder / "a.graphir.json")[0].isascii()
    SCHEMA.validate(json.loads((folder / "a.graphir.json").read_bytes()))
    return loaded


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(strategies.graphs())
def test_any_graph_comes_back(graph: Graph) -> None:
    with tempfile.TemporaryDirectory() as folder:
        loaded = saved_and_loaded(graph, Path(folder))
        assert first_difference(graph, loaded) is None
        assert [value.known for value in loaded.parameters] == [value.known for value in graph.parameters]


def test_a_map_may_be_the_type_of_an_attribute(tmp_path: Path) -> None:
    graph = Graph("g")
    anything = graph.add_input("anything", TensorType())
    type_ = MapType(DType.INT64, TensorType())
    graph.add_node(Foreign("custom", "Thing", (("type", type_),)), [anything], name="thing", output_names=["y"])
    graph.set_outputs([graph["y"]])
    assert first_difference(graph, saved_and_loaded(graph, tmp_path)) is None


@pytest.mark.parametrize("name", strategies.OPERATORS)
@settings(max_examples=15, deadline=None)
@given(st.data())
def test_any_operator_comes_back(name: str, data: st.DataObject) -> None:
    op = data.draw(strategies.operators(name))
    held: dict[str, Tensor] = {}

    def put(tensor: Tensor) -> str:
        held[str(len(held))] = tensor
        return str(len(held) - 1)

    text = json.dumps(attributes_to_json(op, put), allow_nan=False)
    back = operator_from_json(type(op), parse_json(text), "$", lambda key, where: held[key])
    assert same_attribute(back.attributes(), op.attributes())


@pytest.mark.parametrize("name", strategies.OPERATORS)
def test_every_field_has_a_form_in_the_file(name: str) -> None:
    kind = operator_table()[name]
    assert [field.name for field in fields_of(kind)] == list(kind.field_names)


@given(strategies.dims)
def test_dimensions_come_back(dim: Dim) -> None:
    back = dim_from_json(parse_json(json.dumps(dim_to_json(dim))), "$")
    assert (type(back), back) == (type(dim), dim)


@given(strategies.value_types)
def test_types_come_back(type_: Any) -> None:
    assert type_from_json(parse_json(json.dumps(type_to_json(type_))), "$") == type_


@given(st.floats() | st.integers(0, 2**64 - 1).map(lambda bits: np.uint64(bits).view(np.float64).item()))
def test_floats_keep_every_bit(value: float) -> None:
    back = float_from_json(parse_json(json.dumps(float_to_json(value), allow_nan=False)), "$")
    assert same_attribute(back, value)


@settings(deadline=None)
@given(tensor=strategies.tensors(most=9), hashes=st.booleans())
def test_tensors_keep_every_bit(tensor: Tensor, hashes: bool) -> None:
    graph = Graph("g")
    graph.add_parameter("w", tensor)
    with tempfile.TemporaryDirectory() as folder:
        loaded = saved_and_loaded(graph, Path(folder), hashes=hashes)
        assert first_difference(graph, loaded) is None
        assert loaded["w"].known == graph["w"].known


def test_the_file_reads_as_meant(tmp_path: Path) -> None:
    graph = Graph("small")
    graph.add_input("x", TensorType(DType.FLOAT32, (symbol("N"), 3)))
    graph.add_parameter("w", Tensor.of(np.ones((1, 3), np.float32)))
    graph.set_outputs([graph.add(Add(), graph["x"], graph["w"], name="sum")])
    saved_and_loaded(graph, tmp_path)
    assert (tmp_path / "a.graphir.json").read_text().splitlines() == [
        "{",
        '"format": "graphir",',
        '"version": 1,',
        '"weights": "a.graphir.safetensors",',
        '"name": "small",',
        '"inputs": [',
        ' {"name": "x", "type": ["float32", ["N", 3]]}',
        "],",
        '"parameters": [',
        ' {"name": "w", "type": ["float32", [1, 3]], "stored": "w"}',
        "],",
        '"nodes": [',
        ' {"name": "sum", "op": "Add", "inputs": ["x", "w"], '
        '"outputs": [{"name": "sum", "type": ["float32", ["N", 3]]}]}',
        "],",
        '"outputs": ["sum"]',
        "}",
    ]


def many_dtypes() -> Graph:
    graph = Graph("dtypes")
    for index, dtype in enumerate(strategies.DTYPES):
        if dtype is not DType.STRING:
            array = strategies.array_of(dtype, (index + 65,), bytes(range(7)))
            graph.add_parameter(dtype.value, Tensor.of(array, dtype))
    return graph


def test_safetensors_reads_the_weights(tmp_path: Path) -> None:
    graph = many_dtypes()
    save_graph(graph, tmp_path / "a.graphir.json")
    found = dict(untyped(safetensors.deserialize)((tmp_path / "a.graphir.safetensors").read_bytes()))
    assert found.keys() == {value.name for value in graph.parameters}
    same = [bytes(found[v.name]["data"]) == b"".join(v.tensor.chunks()) for v in graph.parameters if v.tensor]
    assert all(same)
    assert (found["bfloat16"]["dtype"], found["complex64"]["dtype"], found["int4"]["dtype"]) == ("BF16", "U8", "U8")


def test_stored_tensors_are_aligned(tmp_path: Path) -> None:
    save_graph(many_dtypes(), tmp_path / "a.graphir.json")
    loaded = load_graph(tmp_path / "a.graphir.json")
    places = [(present(value.tensor.region).offset, value.tensor.dtype) for value in loaded.parameters if value.tensor]
    assert [dtype for offset, dtype in places if offset % max(1, dtype.bits // 8)] == []


def test_small_integers_stand_in_the_json(tmp_path: Path) -> None:
    graph = Graph()
    graph.add_parameter("shape", Tensor.of(np.array([1, -1, 2**63 - 1])))
    graph.add_parameter("big", Tensor.of(np.arange(65)))
    save_graph(graph, tmp_path / "a.graphir.json")
    rows = json.loads((tmp_path / "a.graphir.json").read_text())["parameters"]
    assert [row.get("data", row.get("stored")) for row in rows] == [[1, -1, 2**63 - 1], "big"]


def test_a_graph_without_stored_weights_is_one_file(tmp_path: Path) -> None:
    graph = Graph()
    graph.add_parameter("later", None, FLOAT)
    loaded = saved_and_loaded(graph, tmp_path)
    assert loaded["later"].tensor is None
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["a.graphir.json"]


def test_a_shared_tensor_is_stored_once(tmp_path: Path) -> None:
    tensor = Tensor.of(np.ones((2, 3), np.float32))
    graph = Graph()
    graph.add_parameter("a", tensor)
    graph.add_parameter("b", tensor)
    loaded = saved_and_loaded(graph, tmp_path)
    assert present(loaded["a"].tensor).region == present(loaded["b"].tensor).region


def test_empty_tensors_are_not_shared(tmp_path: Path) -> None:
    graph = Graph()
    graph.add_parameter("a", Tensor.of(np.zeros((0, 3), np.float32)))
    graph.add_parameter("b", Tensor.of(np.zeros((0, 3), np.float32)))
    assert first_difference(graph, saved_and_loaded(graph, tmp_path)) is None


def test_a_subgraph_says_which_of_two_equal_names_it_means(tmp_path: Path) -> None:
    graph = Graph("outer")
    outer = graph.add_input("x", FLOAT)
    inner = Graph("inner", parent=graph)
    own = inner.add(Identity(), outer, output="x")
    inner.set_outputs([inner.add(Add(), own, outer, output="sum"), outer])
    graph.add_node(Foreign("d", "If"), [outer], output_names=["y"], subgraphs=[inner])
    loaded = saved_and_loaded(graph, tmp_path)
    assert first_difference(graph, loaded) is None
    (node,) = loaded.nodes
    both = list(node.subgraphs[0].nodes)[1].inputs
    assert [present(value).graph.name for value in both] == ["inner", "outer"]


def test_saving_over_the_file_that_holds_the_weights(tmp_path: Path) -> None:
    graph = Graph()
    graph.add_parameter("first", Tensor.of(np.arange(100.0)))
    graph.add_parameter("second", Tensor.of(np.arange(200.0)))
    save_graph(graph, tmp_path / "a.graphir.json")
    loaded = load_graph(tmp_path / "a.graphir.json")
    loaded.erase_value(loaded["first"])
    save_graph(loaded, tmp_path / "a.graphir.json")
    assert present(loaded["second"].tensor).numpy().tolist() == list(range(200))
    assert present(load_graph(tmp_path / "a.graphir.json")["second"].tensor).numpy().tolist() == list(range(200))


def test_an_attribute_keeps_its_tensor_when_its_file_is_replaced(tmp_path: Path) -> None:
    graph = Graph()
    tensor = Tensor.of(np.arange(100.0))
    graph.add_node(Foreign("d", "Op", (("value", tensor),)), [graph.add_input("x")], name="node")
    save_graph(graph, tmp_path / "a.graphir.json")
    loaded = load_graph(tmp_path / "a.graphir.json")
    other = Graph()
    other.add_parameter("w", Tensor.of(np.zeros(300)))
    save_graph(other, tmp_path / "a.graphir.json")
    ((_, held),) = untyped(loaded.nodes[0].op).attribute_items
    assert same_tensor(held, tensor)


def test_weights_are_not_held_in_memory(tmp_path: Path) -> None:
    size = 64 << 20
    with open(tmp_path / "source.bin", "wb") as file:
        file.truncate(size)
    graph = Graph()
    graph.add_parameter("w", Tensor.at(tmp_path / "source.bin", 0, DType.FLOAT32, (size // 4,)))
    tracemalloc.start()
    save_graph(graph, tmp_path / "a.graphir.json")
    loaded = load_graph(tmp_path / "a.graphir.json")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert present(loaded["w"].tensor).nbytes == size
    assert peak < 8 << 20


def test_hashes_find_changed_weights(tmp_path: Path) -> None:
    graph = Graph()
    graph.add_parameter("w", Tensor.of(np.ones(100, np.float32)))
    save_graph(graph, tmp_path / "a.graphir.json", hashes=True)
    assert first_difference(graph, load_graph(tmp_path / "a.graphir.json", check_hashes=True)) is None
    weights = tmp_path / "a.graphir.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\0")
    load_graph(tmp_path / "a.graphir.json")
    with pytest.raises(FormatError, match=r"SHA-256 .* \(at \$.parameters\[0\].sha256\)"):
        load_graph(tmp_path / "a.graphir.json", check_hashes=True)


def test_hashes_that_were_not_saved_cannot_be_checked(tmp_path: Path) -> None:
    save_graph(many_dtypes(), tmp_path / "a.graphir.json")
    with pytest.raises(FormatError, match="saved without a SHA-256"):
        load_graph(tmp_path / "a.graphir.json", check_hashes=True)


def failing() -> np.ndarray[Any, Any]:
    raise RuntimeError("no elements")


def short() -> np.ndarray[Any, Any]:
    return np.zeros(3)


@pytest.mark.parametrize(("compute", "error"), [(failing, RuntimeError), (short, Exception)])
def test_a_failed_save_leaves_the_old_files(tmp_path: Path, compute: Any, error: type[Exception]) -> None:
    save_graph(many_dtypes(), tmp_path / "a.graphir.json")
    before = pair(tmp_path / "a.graphir.json")
    graph = Graph()
    graph.add_parameter("w", Tensor.computed(DType.FLOAT64, (4,), compute))
    with pytest.raises(error):
        save_graph(graph, tmp_path / "a.graphir.json")
    assert pair(tmp_path / "a.graphir.json") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.graphir.json", "a.graphir.safetensors"]


@operator
class _Homemade(Operator):
    """An operator of nobody."""

    inputs = ("X",)

    def infer(self, x: TensorType) -> TensorType:
        return x


def test_all_nodes_that_cannot_be_written_are_listed(tmp_path: Path) -> None:
    graph = Graph()
    x = graph.add_input("x", FLOAT)
    graph.add(_Homemade(), x, name="mine")
    graph.add(Foreign("d", "Op", (("value", math),)), x, name="strange")
    with pytest.raises(UnsupportedOpError) as caught:
        save_graph(graph, tmp_path / "a.graphir.json")
    assert [gap.nodes for gap in caught.value.gaps] == [("mine",), ("strange",)]
    assert list(tmp_path.iterdir()) == []


def surrogate_name() -> Graph:
    graph = Graph()
    graph.add_input("\ud800", FLOAT)
    return graph


def negative_size() -> Graph:
    graph = Graph()
    graph.add_input("x", TensorType(DType.FLOAT32, (-1,)))
    return graph


def use_before_production() -> Graph:
    graph = Graph()
    x = graph.add_input("x", FLOAT)
    first = graph.add(Identity(), x, name="first")
    second = graph.add(Identity(), x, name="second")
    graph.replace_input(present(first.producer), 0, second)
    return graph


def strings_of_numbers() -> Graph:
    graph = Graph()
    graph.add_parameter("w", Tensor(DType.STRING, (1,), array=np.array([3], object)))
    return graph


def lone_subgraph() -> Graph:
    graph = Graph()
    inner = Graph(parent=graph)
    inner.add(Identity(), graph.add_input("x", FLOAT), name="node")
    return inner


@pytest.mark.parametrize(
    ("build", "name", "text"),
    [
        pytest.param(Graph, "a.json", "ends in .graphir.json", id="suffix"),
        pytest.param(Graph, ".graphir.json", "ends in .graphir.json", id="no name"),
        pytest.param(Graph, "nowhere/a.graphir.json", "its folder does not exist", id="no folder"),
        pytest.param(surrogate_name, "a.graphir.json", "lone surrogate", id="surrogate"),
        pytest.param(negative_size, "a.graphir.json", "x: .*negative size", id="negative size"),
        pytest.param(use_before_production, "a.graphir.json", "first uses second, which is not produced", id="order"),
        pytest.param(strings_of_numbers, "a.graphir.json", "a tensor of strings holds 3", id="strings"),
        pytest.param(lone_subgraph, "a.graphir.json", "node node uses x", id="lone subgraph"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path: Path, build: Any, name: str, text: str) -> None:
    with pytest.raises(ExportFailure, match=text):
        save_graph(build(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []
