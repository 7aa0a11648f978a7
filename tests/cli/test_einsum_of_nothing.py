"""Einsum of operands without elements, of which some end onnxruntime's process: written otherwise, or refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import graphir as library
from graphir.graph import Graph
from tests.building import make_model, save_model
from tests.cli.conftest import Command
from tests.tensorflow.graphdef import graph_def, node, placeholder

# Of each of these onnxruntime 1.32 ends in a division by 0.
DEADLY = [
    ("lj,jli->il", (3, 2), (2, 3, 0)),
    ("ki,kli->", (2, 0), (2, 2, 0)),
    ("lk,jk->lkj", (1, 0), (3, 0)),
    ("l,kl->kl", (0,), (2, 0)),
]
Row = tuple[str, tuple[int, ...], tuple[int, ...]]


def einsum_file(path: Path, row: Row, *, stated: bool = True, constants: bool = False) -> Path:
    """A model of one Einsum; of inputs of stated sizes or of any, or of constants."""
    equation, *shapes = row
    ends = {f"x{slot}": list(shape) if stated else [None] * len(shape) for slot, shape in enumerate(shapes)}
    weights = {f"x{slot}": np.ones(shape, np.float32) for slot, shape in enumerate(shapes)}
    node = helper.make_node("Einsum", ["x0", "x1"], ["y"], equation=equation, name="product")
    model = make_model([node], {} if constants else ends, {"y": None}, weights if constants else {})
    return save_model(path, model)


def expected(row: Row) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    equation, *shapes = row
    return np.asarray(np.einsum(equation, *(np.ones(shape, np.float32) for shape in shapes)))


def feeds(row: Row) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    return {f"x{slot}": np.ones(shape, np.float32) for slot, shape in enumerate(row[1:])}


def assert_computes(graph: Graph, row: Row) -> None:
    (found,) = library.Session(graph).run(feeds(row) if graph.inputs else {}).values()
    assert found.shape == expected(row).shape
    assert np.array_equal(found, expected(row))


@pytest.mark.parametrize("constants", [False, True])
@pytest.mark.parametrize("row", DEADLY, ids=lambda row: row[0])
def test_known_sizes_are_written_as_zeros(row: Row, constants: bool, tmp_path: Path) -> None:
    assert_computes(library.load(einsum_file(tmp_path / "m.onnx", row, constants=constants)), row)


@pytest.mark.parametrize("row", DEADLY, ids=lambda row: row[0])
def test_tensorflow_of_known_sizes_is_written_as_zeros(row: Row, tmp_path: Path) -> None:
    equation, *shapes = row
    inputs = [placeholder(f"x{slot}", "float32", shape) for slot, shape in enumerate(shapes)]
    path = tmp_path / "m.pb"
    path.write_bytes(graph_def(*inputs, node("Einsum", "y", ["x0", "x1"], equation=equation, N=2, T="float32")))
    assert_computes(library.load(path), row)


@pytest.mark.parametrize("row", DEADLY, ids=lambda row: row[0])
def test_a_check_takes_the_imported_graph_for_the_reference(row: Row, tmp_path: Path, graphir: Command) -> None:
    source, target = einsum_file(tmp_path / "m.onnx", row), tmp_path / "out.onnx"
    told = graphir("convert", source, target, "--verify")
    assert told.code == 5, told.err  # not proven
    assert "Einsum" not in [one.op_type for one in onnx.load(target).graph.node]


def test_what_is_cut_to_nothing_inside_a_file(tmp_path: Path, graphir: Command) -> None:
    """The feeds have elements, the operands have none: a check of the file runs its graph in place of it."""
    source, target = tmp_path / "m.onnx", tmp_path / "out.onnx"
    zero = numpy_helper.from_array(np.zeros(1, np.int64), "zero")
    nodes = [
        helper.make_node("Slice", ["x", "zero", "zero", "axis"], ["part"]),
        helper.make_node("Einsum", ["w", "part"], ["product"], equation="lj,jli->i", name="product"),
        helper.make_node("ReduceSum", ["product"], ["total"], keepdims=0),
        helper.make_node("Add", ["x", "total"], ["y"]),
    ]
    axis = numpy_helper.from_array(np.array([1], np.int64), "axis")
    weight = numpy_helper.from_array(np.ones((0, 2), np.float32), "w")
    shape = (2, 3, 4)
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [zero, axis, weight],
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), source)
    assert graphir("convert", source, target).code == 0
    told = graphir("verify", source, target)
    assert told.code == 0, told.err + told.out


@pytest.mark.parametrize("row", DEADLY, ids=lambda row: row[0])
def test_feeds_without_elements_are_refused(row: Row, tmp_path: Path) -> None:
    session = library.Session(einsum_file(tmp_path / "m.onnx", row, stated=False))
    with pytest.raises(library.RunError, match=r"no elements, and the model has Einsum \(product\)"):
        session.run(feeds(row))
    equation, first, second = row
    full = (equation, tuple(size or 2 for size in first), tuple(size or 2 for size in second))
    (found,) = session.run(feeds(full)).values()
    np.testing.assert_allclose(found, expected(full))


def test_other_models_take_feeds_without_elements(tmp_path: Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N"])],
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    (found,) = library.Session(tmp_path / "m.onnx").run({"x": np.zeros(0, np.float32)}).values()
    assert found.shape == (0,)
