"""Graphs that take their data from an iterator: what it gives is fed instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphir
from graphir.converters.tensorflow import load
from graphir.errors import FormatError, UnsupportedOpError
from graphir.types import DType
from tests.tensorflow.graphdef import graph_def, node, placeholder
from tests.typed import untyped

TYPES, SHAPES = ("float32", "float32"), ((None, 4), (None, 4))


def iterated(*more: dict[str, Any], types: tuple[str, ...] = TYPES, op: str = "IteratorGetNext") -> bytes:
    """A graph of TensorFlow 1 that reads two arrays from an iterator and subtracts them."""
    attrs = {"output_types": types, "output_shapes": SHAPES}
    return graph_def(
        node("IteratorV2", "iterator", **untyped(attrs), shared_name="", container=""),
        node("IteratorToStringHandle", "handle", ["iterator"]), node(op, "next", ["iterator"], **attrs),
        node("Sub", "y", ["next:1", "next"], T="float32"), *more,
    )  # fmt: skip


def test_elements_are_inputs() -> None:
    graph = load(iterated())
    assert [(value.name, value.dtype, value.rank) for value in graph.inputs] == [
        ("next", DType.FLOAT32, 2), ("next:1", DType.FLOAT32, 2)
    ]  # fmt: skip
    assert [value.name for value in graph.outputs] == ["y"]
    assert [held.text for held in graph.decisions if held.kind == "inputs fed"] == [
        "what an iterator gives is fed as inputs: next, next:1"
    ]


def test_computes_what_it_is_fed_with() -> None:
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    found = graphir.Session(load(iterated(op="IteratorGetNextSync"))).run({"next": x, "next:1": 3 * x})
    np.testing.assert_array_equal(found["y"], 2 * x)


def test_shapes_can_be_given_by_either_name() -> None:
    graph = load(iterated(), shapes={"next:0": (3, 4), "next:1": (3, 4)})
    assert [value.shape for value in graph.outputs] == [(3, 4)]


def test_an_element_can_be_an_output_and_the_graph_be_cut_elsewhere() -> None:
    graph = load(iterated(), outputs=["next:1", "y"])
    assert [value.name for value in graph.outputs] == ["next:1_1", "y"]
    cut = load(iterated(), inputs=["next:1"], outputs=["y"])
    assert [value.name for value in cut.inputs] == ["next:1", "next"]  # the caller names it first


def test_a_handle_alone_is_refused_with_its_type() -> None:
    attrs = {"output_types": ("variant", "float32"), "output_shapes": ((), (None, 4))}
    nodes = (
        node("IteratorV2", "iterator", **untyped(attrs), shared_name="", container=""),
        node("IteratorGetNext", "next", ["iterator"], **attrs), node("Identity", "z", ["next"], T="variant"),
    )  # fmt: skip
    with pytest.raises(UnsupportedOpError, match="an input of type variant"):
        load(graph_def(*nodes), outputs=["z"])


def test_what_fetches_in_another_way_is_refused_with_the_option_that_helps() -> None:
    attrs = {"output_types": TYPES, "output_shapes": SHAPES}
    nodes = (
        node("IteratorV2", "iterator", **untyped(attrs), shared_name="", container=""),
        node("IteratorGetNextAsOptional", "next", ["iterator"], **attrs),
        node("OptionalGetValue", "held", ["next"], **attrs),
        node("Sub", "y", ["held:1", "held"], T="float32"),
    )  # fmt: skip
    with pytest.raises(UnsupportedOpError, match=r"it fetches data; --inputs NAME .* makes an input"):
        load(graph_def(*nodes))
    cut = load(graph_def(*nodes), inputs=["held", "held:1"], shapes={"held": (2, 4), "held:1": (2, 4)})
    assert [value.shape for value in cut.outputs] == [(2, 4)]


def test_an_element_of_another_dtype_than_its_reader_takes_is_refused() -> None:
    with pytest.raises(FormatError, match=r"node y \(Sub\): input 1 is next:0, a result of the dtype variant"):
        load(iterated(types=("variant", "float32")))


def test_placeholders_beside_an_iterator_stay() -> None:
    graph = load(iterated(placeholder("x", "float32", (None, 4)), node("Add", "z", ["x", "y"], T="float32")))
    assert [value.name for value in graph.inputs] == ["next", "next:1", "x"]


@pytest.mark.live
@pytest.mark.usefixtures("live_tensorflow")
def test_conversion_is_proved_by_live_tensorflow(tmp_path: Path) -> None:
    (tmp_path / "model.pb").write_bytes(iterated())
    report = graphir.convert(tmp_path / "model.pb", tmp_path / "model.onnx", verify=True, against="live")
    assert report.verification is not None
    assert report.verification.ok
    assert report.verification.reference.startswith("TensorFlow")
