"""Graphs: what changes do, what they refuse, and that a refused change leaves everything as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir.decisions import DecisionKind
from graphir.errors import GraphError, ShapeError
from graphir.graph import Decision, Graph
from graphir.ops.elementwise import Add, Clip, Identity, Neg, Sum
from graphir.ops.foreign import Foreign
from graphir.ops.linear import Gemm, MatMul
from graphir.tensor import Tensor
from graphir.types import ANYTHING, DType
from tests.growth import is_near_linear
from tests.ops.rule import tensor
from tests.typed import present

SMALL = tensor("float32[2, 3]")
TWO = Foreign("test", "Two", (), 2)


def sample() -> Graph:
    """y = (x + w) negated; the sum is also an output, under the name s."""
    graph = Graph("sample")
    x = graph.add_input("x", SMALL)
    w = graph.add_parameter("w", Tensor.of(np.ones((2, 3), np.float32)))
    total = graph.add(Add(), x, w, name="s")
    total.sources = ("sum_output",)
    graph.set_outputs([graph.add(Neg(), total, name="y"), total])
    return graph


def state(graph: Graph) -> object:
    """Everything that a refused change must leave alone."""
    uses = {value.name: [(node.name, slot) for node, slot in value.uses] for value in graph.values}
    held = [(value.name, value.type, value.sources, value.tensor, value.known) for value in graph.values]
    return str(graph), len(graph), uses, held, graph.outputs


OTHER = sample()

REFUSED = [
    # the change, what its error says
    (lambda g: g["nothing"], "sample has no value 'nothing'"),
    (lambda g: g.add_input("x"), "'x' exists already"),
    (lambda g: g.add_input(""), "needs a name"),
    (lambda g: g.add_parameter("s"), "'s' exists already"),
    (lambda g: g.add_parameter("new", Tensor.of([1.0]), SMALL), r"parameter new: .*\[1\] and \[2, 3\]|dtypes"),
    (lambda g: g.add(Add(), g["x"]), "Add takes A, B, found 1"),
    (lambda g: g.add(Neg(), g["x"], g["x"]), "Neg takes X, found 2"),
    (lambda g: g.add(Add(), g["x"], None), r"cannot do without operand 1 \(B\)"),
    (lambda g: g.add(Sum()), "Sum takes data_0.*found 0"),
    (lambda g: g.add(Neg(), OTHER["x"], name="n"), r"n: operand 0 \(x\) belongs to another graph"),
    (lambda g: g.add(MatMul(), g["x"], g["w"], name="m"), r"node m \(MatMul\) refuses its operands \(x: float32\[2"),
    (lambda g: g.add(Neg(), g["x"], output="s"), "'s' exists already"),
    (lambda g: g.add(TWO, g["x"], name="t"), "t: Foreign has 2 results; use add_node"),
    (lambda g: g.add_node(TWO, [g["x"]], output_names=["a", "a"]), "'a' exists already"),
    (lambda g: g.add_node(TWO, [g["x"]], output_names=["a", ""]), "needs a name"),
    (lambda g: g.add_node(TWO, [g["x"]], output_names=["a"]), "2 results, found 1 names"),
    (lambda g: g.add(Neg(), g["x"], before=OTHER["s"].producer), "no node of sample to stand before"),
    (lambda g: g.add_node(TWO, [g["x"]], subgraphs=[Graph("inner")]), "inner was not made with this graph"),
    (lambda g: g.set_outputs([g["s"], OTHER["s"]]), "s belongs to another graph"),
    (lambda g: g.rename(g["s"], "x"), "cannot rename s: a value called 'x'"),
    (lambda g: g.rename(g["s"], ""), "cannot rename s: a value needs a name"),
    (lambda g: g.rename(OTHER["s"], "z"), "s is not a value of sample"),
    (lambda g: g.replace_uses(g["s"], OTHER["s"]), "s belongs to another graph and cannot replace s"),
    (lambda g: g.replace_uses(OTHER["s"], g["s"]), "s is not a value of sample"),
    (lambda g: g.replace_input(g["y"].producer, 0, OTHER["s"]), r"operand 0 \(s\) belongs to another graph"),
    (lambda g: g.replace_input(g["y"].producer, 1, g["x"]), "y has 1 operands, none in slot 1"),
    (lambda g: g.replace_input(g["y"].producer, -1, g["x"]), "none in slot -1"),
    (lambda g: g.replace_input(g["y"].producer, 0, None), "cannot do without operand 0"),
    (lambda g: g.replace_input(OTHER["y"].producer, 0, g["x"]), "y is not a node of sample"),
    (lambda g: g.erase(g["s"].producer), "cannot erase s: s is used by y"),
    (lambda g: g.erase(g["y"].producer), "cannot erase y: y is an output"),
    (lambda g: g.erase(OTHER["y"].producer), "y is not a node of sample"),
    (lambda g: g.erase_value(g["x"]), "cannot erase x: it is used by s"),
    (lambda g: g.erase_value(g["s"]), "s is a result of s; erase the node"),
    (lambda g: g.erase_value(OTHER["x"]), "x is not a value of sample"),
    (lambda g: g.set_tensor(g["x"], Tensor.of(1.0)), "x is not a parameter"),
    (lambda g: g.set_tensor(g["w"], Tensor.of([1.0])), "parameter w: "),
    (lambda g: g.refine(g["x"], tensor("?[2, 4]")), r"x: \[2, 3\] and \[2, 4\] contradict"),
    (lambda g: g.refine(OTHER["x"], SMALL), "x is not a value of sample"),
]


@pytest.mark.parametrize(("change", "text"), REFUSED)
def test_a_refused_change_changes_nothing(change: Callable[..., Any], text: str) -> None:
    graph = sample()
    before = state(graph)
    with pytest.raises((GraphError, ShapeError), match=text):
        change(graph)
    assert state(graph) == before
    graph.check()
    OTHER.check()


@pytest.mark.parametrize(("elements", "text"), [(np.zeros(7, "f4"), "refuses its operands"), (np.ones(3), "float64")])
def test_a_replaced_operand_must_suit(elements: NDArray[Any], text: str) -> None:
    graph = sample()
    new = graph.constant(elements, name="new")
    before = state(graph)
    with pytest.raises(ShapeError, match=text):
        graph.replace_input(present(graph["s"].producer), 1, new)
    assert state(graph) == before


def test_erased_values_cannot_be_used() -> None:
    graph = sample()
    gone = graph.add(Neg(), graph["x"], name="gone")
    graph.erase(present(gone.producer))
    unused = graph.add_parameter("unused")
    graph.erase_value(unused)
    for value in (gone, unused):
        with pytest.raises(GraphError, match="erased"):
            graph.add(Neg(), value)
        with pytest.raises(GraphError, match="another graph"):
            graph.set_outputs([value])
    graph.check()


def test_results_are_named_after_the_node() -> None:
    graph = sample()
    names = [value.name for value in graph.add_node(TWO, [graph["x"], None], name="t").outputs]
    assert names == ["t_0", "t_1"]
    assert [graph.add(Neg(), graph["x"], name="s").name, graph.add(Neg(), graph["x"]).name] == ["s_1", "Neg"]
    assert graph.fresh_name("s") == "s_2"
    assert graph.fresh_name("free") == "free"


def test_only_one_result_is_the_output() -> None:
    graph = sample()
    with pytest.raises(GraphError, match="has 2 results; choose one"):
        assert graph.add_node(TWO, [graph["x"]], name="t").output


def test_operands_that_may_be_absent() -> None:
    graph = sample()
    high = graph.constant(1.0, DType.FLOAT32)
    node = graph.add_node(Clip(), [graph["x"], None, high], name="clip")
    graph.replace_input(node, 2, None)
    graph.replace_input(node, 1, high)
    assert list(high.uses) == [(node, 1)]
    graph.check()


def test_nodes_stand_where_they_are_put() -> None:
    graph = sample()
    graph.add(Neg(), graph["x"], name="last")
    graph.add(Neg(), graph["x"], name="middle", before=graph["y"].producer)
    graph.add(Neg(), graph["x"], name="first", before=graph["s"].producer)
    assert [node.name for node in graph.nodes] == ["first", "s", "middle", "y", "last"]
    assert len(graph) == 5


def test_use_lists() -> None:
    graph = sample()
    twice = graph.add(Add(), graph["x"], graph["x"], name="twice")
    assert [(node.name, slot) for node, slot in graph["x"].uses] == [("s", 0), ("twice", 0), ("twice", 1)]
    assert [node.name for node in graph["x"].users()] == ["s", "twice"]
    graph.replace_uses(graph["x"], graph["w"])
    assert not graph["x"].uses
    assert present(twice.producer).inputs == (graph["w"],) * 2
    graph.check()


def test_replaced_outputs_keep_their_place_and_sources() -> None:
    graph = sample()
    new = graph.add(Identity(), graph["x"], name="new", before=graph["y"].producer)
    graph.replace_uses(graph["s"], new)
    assert [value.name for value in graph.outputs] == ["y", "new"]
    assert new.sources == ("sum_output",)
    graph.erase(present(graph["s"].producer))
    graph.check()


def test_outputs_can_be_kept() -> None:
    graph = sample()
    graph.replace_uses(graph["s"], graph["x"], outputs=False)
    assert [value.name for value in graph.outputs] == ["y", "s"]
    assert graph.is_input(graph["x"])
    assert not graph.is_input(graph["s"])
    assert graph.is_output(graph["s"])
    assert not graph.is_output(graph["x"])


def test_renamed_parameters_keep_their_place() -> None:
    graph = sample()
    graph.add_parameter("b")
    graph.rename(graph["w"], "weight")
    graph.rename(graph["weight"], "weight")
    assert [value.name for value in graph.parameters] == ["weight", "b"]
    assert "w" not in graph
    graph.check()


def test_small_constants_are_shared() -> None:
    graph = sample()
    one = graph.constant([1, 2])
    assert graph.constant(np.array([1, 2])) is one
    different = [([1, 2], DType.INT32), ([[1, 2]], None), ([1, 3], None), (0.0, None), (-0.0, None)]
    assert len({one, *(graph.constant(elements, dtype) for elements, dtype in different)}) == 6
    unshared = [np.zeros(1000), np.zeros(1000), ["a"], ["a"]]
    assert len(set(map(graph.constant, unshared))) == 4


@pytest.mark.parametrize("change", [
    lambda graph, value: graph.erase_value(value),
    lambda graph, value: graph.set_tensor(value, Tensor.of([3, 4])),
    lambda graph, value: graph.set_tensor(value, None),
])  # fmt: skip
def test_constants_that_changed_are_not_shared(change: Callable[..., Any]) -> None:
    graph = sample()
    first = graph.constant([1, 2])
    change(graph, first)
    second = graph.constant([1, 2])
    assert second is not first
    assert present(second.known).elements == (1, 2)


def test_renamed_constants_are_shared() -> None:
    graph = sample()
    first = graph.constant([1, 2])
    graph.rename(first, "sizes")
    assert graph.constant([1, 2]) is first


def test_parameters_get_their_elements_later() -> None:
    graph = sample()
    late = graph.add_parameter("late", None, tensor("?[2]"))
    graph.set_tensor(late, Tensor.of([5, 6]))
    assert (str(late.type), present(late.known).elements) == ("int64[2]", (5, 6))
    graph.set_tensor(late, None)
    assert (late.tensor, late.known, str(late.type)) == (None, None, "int64[2]")


def test_decisions_and_metadata() -> None:
    graph = sample()
    graph.decide(DecisionKind.DEFAULT, "bn0", "eps is 1e-3")
    assert graph.decisions == [Decision(DecisionKind.DEFAULT, "bn0", "eps is 1e-3")]
    assert str(graph.decisions[0]) == "[default] bn0: eps is 1e-3"


def with_subgraph() -> tuple[Graph, Graph]:
    """A graph whose node `branch` has a subgraph that uses its x and gives its s."""
    graph = sample()
    inner = Graph("inner", parent=graph)
    own = inner.add_input("own", SMALL)
    inner.set_outputs([inner.add(Add(), own, graph["x"], name="t"), graph["s"]])
    graph.add_node(TWO, [graph["x"]], name="branch", subgraphs=[inner])
    graph.check()
    return graph, inner


def test_a_subgraph_sees_the_values_around_it() -> None:
    graph, inner = with_subgraph()
    assert [node.name for node in graph["x"].users()] == ["s", "t", "branch"]
    graph.replace_uses(graph["x"], graph.add_input("z", SMALL))
    assert present(inner["t"].producer).inputs == (inner["own"], graph["z"])
    graph.check()


def test_what_a_subgraph_gives_cannot_be_erased() -> None:
    graph, inner = with_subgraph()
    graph.set_outputs([])
    graph.erase(present(graph["y"].producer))
    with pytest.raises(GraphError, match="s is an output"):
        graph.erase(present(graph["s"].producer))
    new = graph.add(Identity(), graph["x"], name="new", before=graph["s"].producer)
    graph.replace_uses(graph["s"], new)
    assert [value.name for value in inner.outputs] == ["t", "new"]
    graph.erase(present(graph["s"].producer))
    graph.check()


def test_an_erased_node_uses_nothing_through_its_subgraphs() -> None:
    graph, inner = with_subgraph()
    deeper = Graph("deeper", parent=inner)
    deeper.set_outputs([deeper.add(Add(), inner["t"], graph["w"], name="u"), inner["own"]])
    inner.add_node(TWO, [inner["t"]], name="leaf", subgraphs=[deeper])
    graph.erase(next(node for node in graph.nodes if node.name == "branch"))
    assert [node.name for node in graph["x"].users()] == ["s"]
    assert [node.name for node in graph["w"].users()] == ["s"]
    graph.set_outputs([])
    graph.erase(present(graph["y"].producer))
    graph.erase(present(graph["s"].producer))
    graph.erase_value(graph["x"])
    graph.check()


def test_a_node_whose_results_are_used_keeps_its_subgraphs() -> None:
    graph, inner = with_subgraph()
    branch = next(node for node in graph.nodes if node.name == "branch")
    graph.set_outputs([branch.outputs[0]])
    before = state(graph), state(inner)
    with pytest.raises(GraphError, match="is an output"):
        graph.erase(branch)
    assert (state(graph), state(inner)) == before
    assert branch.subgraphs == (inner,)
    graph.check()


def test_a_node_in_place_of_another_takes_its_subgraphs() -> None:
    graph, inner = with_subgraph()
    branch = next(node for node in graph.nodes if node.name == "branch")
    made = graph.replace(branch, Foreign("test", "Other", (), 2))
    assert made.subgraphs == (inner,)
    assert [node.name for node in graph["x"].users()] == ["s", "t", "branch"]
    graph.check()


def test_values_inside_are_not_seen_from_outside() -> None:
    graph, inner = with_subgraph()
    with pytest.raises(GraphError, match=r"operand 0 \(t\) belongs to another graph"):
        graph.add(Neg(), inner["t"])
    with pytest.raises(GraphError, match="t belongs to another graph"):
        graph.set_outputs([inner["t"]])
    with pytest.raises(GraphError, match="t belongs to another graph"):
        graph.replace_uses(graph["s"], inner["t"])


def misuse(graph: Graph, slot: int) -> None:
    node = present(graph["y"].producer)
    node._inputs = (graph["x"],) if slot else ()


BROKEN = [
    (lambda g: misuse(g, 0), "the use list of s disagrees"),
    (lambda g: misuse(g, 1), "the use list of x disagrees"),
    (lambda g: g["x"]._uses.clear(), "the use list of x disagrees"),
    (lambda g: g["x"]._uses.update({(OTHER["y"].producer, 3): None}), "the use list of x disagrees"),
    (lambda g: setattr(g["s"], "_name", "other"), "other is not what node s says"),
    (lambda g: setattr(g["s"], "_index", 1), "s is not what node s says"),
    (lambda g: setattr(g["s"], "_producer", None), "s is not what node s says"),
    (lambda g: setattr(g["x"], "_producer", g["s"].producer), "x is an input or parameter"),
    (lambda g: setattr(g["w"], "_name", "s"), "s is an input or parameter"),
    (lambda g: setattr(g, "_count", 7), "7 nodes, found 2"),
    (lambda g: setattr(g["y"].producer, "_graph", None), "node y stands in sample but says that it does not"),
    (lambda g: setattr(g["y"].producer, "_inputs", (OTHER["s"],)), "uses s, which is not produced before it"),
    (lambda g: setattr(g["s"].producer, "_inputs", (g["y"], g["w"])), "uses y, which is not produced before it"),
    (lambda g: g._values.update(ghost=OTHER["s"]), "s is neither an input, a parameter nor a result"),
    (lambda g: setattr(g, "_outputs", (OTHER["s"],)), "output s is not produced"),
    (lambda g: g._inputs.clear(), "uses x, which is not produced"),
]


@pytest.mark.parametrize(("break_", "text"), BROKEN)
def test_check_finds(break_: Callable[..., Any], text: str) -> None:
    graph = sample()
    break_(graph)
    with pytest.raises(GraphError, match=text):
        graph.check()


BROKEN_INSIDE = [
    (lambda g, inner: setattr(inner, "parent", None), "a subgraph of node branch has another parent"),
    (lambda g, inner: g["x"]._uses.pop((inner["t"].producer, 1)), "the use list of x disagrees"),
    (lambda g, inner: setattr(inner, "_outputs", (g["branch_0"],)), "output branch_0 is not produced"),
    (lambda g, inner: setattr(inner["t"].producer, "_inputs", (inner["own"], g["branch_0"])), "uses branch_0, which"),
]


@pytest.mark.parametrize(("break_", "text"), BROKEN_INSIDE)
def test_check_finds_inside_subgraphs(break_: Callable[..., Any], text: str) -> None:
    graph, inner = with_subgraph()
    break_(graph, inner)
    with pytest.raises(GraphError, match=text):
        graph.check()


TEXT = """\
graph sample(x: float32[2, 3]) {
  param w: float32[2, 3]
  param size: int64[2] = [2, 3]
  param bias: ?[...] (no elements)
  s: float32[2, 3] = Add(x, w)
  y: float32[2, 3] = Neg(s)
  fc: float32[2, N] = Gemm(x, -, bias) {alpha=0.5}
  branch_0: ?[...], branch_1: ?[...] = Foreign(x) {foreign_domain=test, operator_name=Two, results=2}
    graph inner(own: float32[2, 3]) {
      t: float32[2, 3] = Add(own, x)
      return t, s
    }
  return y, s
}"""


def test_text() -> None:
    graph, _ = with_subgraph()
    graph.constant([2, 3], name="size")
    bias = graph.add_parameter("bias", None, ANYTHING)
    fc = graph.add(Gemm(alpha=0.5), graph["x"], bias, bias, name="fc", before=graph["branch_0"].producer)
    fc.graph.retype(fc, tensor("float32[2, N]"))
    present(fc.producer)._inputs = (graph["x"], None, bias)
    assert str(graph) == TEXT
    assert repr(graph) == "Graph(sample: 4 nodes, 3 parameters)"
    assert (repr(graph["s"]), repr(graph["s"].producer)) == ("Value(s: float32[2, 3])", "Node(s: Add)")


def chain(count: int) -> Graph:
    graph = Graph("chain")
    value = graph.add_input("x", SMALL)
    for _ in range(count):
        value = graph.add(Neg(), value, name="n")
    graph.set_outputs([value])
    return graph


def work(count: int) -> None:
    """Build, walk, rename, rewire and erase a chain."""
    graph = chain(count)
    graph.check()
    for index, node in enumerate(graph.nodes):
        graph.rename(node.output, f"v{index}")
    end = graph.outputs[0].producer
    graph.replace_input(present(end), 0, graph["x"])
    for node in reversed(list(graph.nodes)):
        if not graph.is_output(node.output):
            graph.erase(node)
    for index in range(count // 10):
        graph.rename(graph.add_parameter(f"p{index}"), f"q{index}")
    graph.set_outputs(graph.parameters)
    for value in graph.parameters[: count // 20]:
        graph.replace_uses(value, graph["x"], outputs=False)
    graph.check()
    assert len(graph) == 1


def test_a_hundred_thousand_nodes_are_linear() -> None:
    assert is_near_linear(work, 5_000, 100_000)


def test_a_body_refines_no_value_around_it() -> None:
    graph = Graph("around")
    x = graph.add_input("x", tensor("float32[?, 3]"))
    body = Graph("body", parent=graph)
    body.refine(x, tensor("float32[2, 3]"))
    assert x.type == tensor("float32[?, 3]")
    with pytest.raises(ShapeError, match=r"x: .*contradict"):
        body.refine(x, tensor("float32[2, 4]"))
