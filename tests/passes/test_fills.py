"""Constants whose sizes follow from their users."""

from __future__ import annotations

import numpy as np
import pytest

from graphir.errors import ImportFailure
from graphir.graph import Graph, Value
from graphir.inference import infer_graph
from graphir.ops.creation import Fill
from graphir.ops.elementwise import Add, Identity
from graphir.passes.fills import resolve_fills
from tests.building import list_operators
from tests.ops.rule import tensor


def added(data: str, *fills: Fill) -> Graph:
    """Each fill added to the input `data`, in turn, by an Add of equal shapes."""
    graph = Graph("added")
    value: Value = graph.add_input("data", tensor(data))
    for index, fill in enumerate(fills):
        value = graph.add(Add(same_shape=True), graph.add(fill, name=f"fill{index}"), value, name=f"sum{index}")
    graph.set_outputs([value])
    infer_graph(graph)
    return graph


def test_static_sizes_become_one_shared_parameter() -> None:
    graph = added("float32[2, 3]", Fill(1.5, (None, 3)), Fill(1.5, (2, None)))
    assert resolve_fills(graph)
    graph.check()
    assert list_operators(graph) == "Add Add"
    (made,) = graph.parameters
    assert made.tensor is not None
    np.testing.assert_array_equal(made.tensor.numpy(), np.full((2, 3), 1.5, np.float32))


def test_large_constants_are_not_held() -> None:
    graph = added("float32[512, 512]", Fill(2.0, None))
    resolve_fills(graph)
    assert list_operators(graph) == "ConstantOfShape Add"
    assert sum(value.tensor.size for value in graph.parameters if value.tensor is not None) == 2
    assert graph.outputs[0].shape == (512, 512)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("float32[N, 3]", "Shape ConstantOfShape Add Add"),
        ("float32[N, M]", "Shape ConstantOfShape Add Add"),
    ],
)
def test_symbolic_sizes_come_from_the_input(data: str, expected: str) -> None:
    graph = added(data, Fill(0.0, (None, None)), Fill(0.0, (None, None)))
    resolve_fills(graph)
    graph.check()
    assert list_operators(graph) == expected
    assert str(graph.outputs[0].type) == data


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("float32[N, 8]", "Shape Gather Concat ConstantOfShape Identity"),
        ("float32[2*N+1, 8]", "Shape Gather Mul Add Concat ConstantOfShape Identity"),
        ("float32[(N+1)//2, M]", "Shape Gather Add Div Gather Concat ConstantOfShape Identity"),
    ],
)
def test_other_shapes_are_put_together(state: str, expected: str) -> None:
    graph = Graph("state")
    graph.add_input("data", tensor("float32[N, M, 3]"))
    fill = graph.add(Fill(0.0, (None, None)), name="fill")
    graph.refine(fill, tensor(state))
    graph.set_outputs([graph.add(Identity(), fill)])
    resolve_fills(graph)
    graph.check()
    assert list_operators(graph) == expected
    assert str(graph.outputs[0].type) == state


def test_unused_fills_vanish() -> None:
    graph = added("float32[N]")
    graph.add(Fill(0.0, (None, 8)), name="begin_state")
    assert resolve_fills(graph)
    assert list_operators(graph) == ""


def test_without_fills_nothing_changes() -> None:
    assert not resolve_fills(added("float32[N]"))


@pytest.mark.parametrize(
    ("shape", "text"),
    [((None, 8), r"begin_state: float32\[\?, 8\]: axes \[0\] are unknown"), (None, "number of axes is unknown")],
)
def test_open_sizes_are_named(shape: tuple[None, int] | None, text: str) -> None:
    graph = Graph("open")
    graph.add_input("data", tensor("float32[N, 3]"))
    graph.set_outputs([graph.add(Identity(), graph.add(Fill(0.0, shape), name="begin_state"))])
    with pytest.raises(ImportFailure, match=text) as caught:
        resolve_fills(graph)
    assert "-i data:" in str(caught.value)


def test_a_symbol_that_no_input_has_is_named() -> None:
    graph = Graph("foreign")
    graph.add_input("data", tensor("float32[N, 3]"))
    fill = graph.add(Fill(0.0, (None,)), name="fill")
    graph.refine(fill, tensor("float32[Q]"))
    graph.set_outputs([graph.add(Identity(), fill)])
    with pytest.raises(ImportFailure, match="no input has an axis Q"):
        resolve_fills(graph)


@pytest.mark.parametrize("data", ["float32[2, 3]", "float32[N, 3]"])
def test_a_fill_that_is_an_output_keeps_its_name(data: str) -> None:
    graph = Graph("output")
    x = graph.add_input("data", tensor(data))
    fill = graph.add(Fill(1.0, (None, None)), name="ones")
    graph.set_outputs([fill, graph.add(Add(same_shape=True), fill, x, name="sum")])
    infer_graph(graph)
    resolve_fills(graph)
    graph.check()
    assert [(value.name, str(value.type)) for value in graph.outputs] == [("ones", data), ("sum", data)]
