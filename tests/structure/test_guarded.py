"""What ties values and nodes into their graph changes through the graph only."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from graphir import Graph, TensorType
from graphir.errors import GraphError
from graphir.ops.activation import Relu
from graphir.ops.base import Known
from graphir.ops.control import If
from graphir.ops.elementwise import Add
from graphir.ops.foreign import Foreign
from graphir.ops.shape import Shape
from graphir.ops.shape_parts import Concat
from graphir.types import DType

PLAIN = TensorType(DType.FLOAT32, (2,))


def sample() -> Graph:
    graph = Graph("sample")
    x = graph.add_input("x", PLAIN)
    graph.set_outputs([graph.add(Relu(), x, name="n", output="y")])
    return graph


FIXED: tuple[tuple[str, str, object, str], ...] = (
    ("value", "name", "z", "Value.y.*: name cannot be assigned to; rename it by graph.rename"),
    ("value", "graph", None, "graph cannot be assigned to; a value stays in its graph"),
    ("value", "producer", None, "producer cannot be assigned to"),
    ("value", "index", 1, "index cannot be assigned to"),
    ("value", "uses", {}, "uses cannot be assigned to; uses change by graph.replace_uses"),
    ("node", "inputs", (), "Node.n: Relu.*: inputs cannot be assigned to; they change by graph.replace_input"),
    ("node", "outputs", (), "outputs cannot be assigned to; a node with other results"),
    ("node", "subgraphs", (), "subgraphs cannot be assigned to"),
    ("node", "graph", None, "graph cannot be assigned to; a node leaves its graph by graph.erase"),
    ("value", "type", PLAIN, r"type cannot be assigned to; graph.refine\(value, type\) adds to it, graph.retype"),
    ("node", "op", Relu(), r"op cannot be assigned to; graph.replace\(node, op\) puts another operator"),
    ("node", "following", None, "following cannot be assigned to; a node keeps its place"),
)


@pytest.mark.parametrize(("holder", "attribute", "wanted", "text"), FIXED)
def test_cannot_be_assigned(holder: str, attribute: str, wanted: object, text: str) -> None:
    graph = sample()
    target = graph["y"] if holder == "value" else graph["y"].producer
    before = getattr(target, attribute)
    with pytest.raises(GraphError, match=text):
        setattr(target, attribute, wanted)
    assert getattr(target, attribute) is before or getattr(target, attribute) == before
    graph.check()


def test_a_wide_node_takes_new_operands_in_every_slot() -> None:
    graph = Graph("wide")
    old, new = graph.add_input("old", PLAIN), graph.add_input("new", PLAIN)
    others = [graph.add_input(f"x{place}", PLAIN) for place in range(3)]
    y = graph.add(Concat(0), old, others[0], old, others[1], others[2], old)
    graph.replace_uses(old, new)
    graph.replace_uses(others[1], new)
    assert y.producer is not None
    assert y.producer.inputs == (new, others[0], new, new, others[2], new)
    assert not old.uses
    assert set(new.uses) == {(y.producer, slot) for slot in (0, 2, 3, 5)}
    graph.check()


def test_one_of_many_outputs_is_replaced_in_its_places() -> None:
    graph = Graph("outputs")
    x = graph.add_input("x", PLAIN)
    made = [graph.add(Relu(), x) for _ in range(5)]
    graph.set_outputs([made[0], made[1], made[0], made[2]])
    graph.replace_uses(made[0], made[3])
    assert graph.outputs == (made[3], made[1], made[3], made[2])
    graph.replace_uses(made[1], made[3])
    assert graph.outputs == (made[3], made[3], made[3], made[2])
    assert graph.is_output(made[3])
    assert not made[0].is_held
    graph.replace_uses(made[3], made[4])
    assert graph.outputs == (made[4], made[4], made[4], made[2])
    graph.set_outputs([made[2]])
    for value in (made[0], made[1], made[3], made[4]):
        assert value.producer is not None
        graph.erase(value.producer)
    graph.check()


def test_a_value_around_a_subgraph_may_replace_what_that_gives() -> None:
    graph = Graph("outer")
    x = graph.add_input("x", PLAIN)
    y = graph.add(Relu(), x)
    inner = Graph("inner", parent=graph)
    inner.set_outputs([y, inner.add(Relu(), x)])
    graph.add_node(Foreign("test", "Loop"), [x], subgraphs=[inner])
    graph.replace_uses(y, x)
    assert inner.outputs[0] is x
    assert x.is_held
    assert not y.is_held
    inner.replace_uses(inner.outputs[1], x)
    assert inner.outputs == (x, x)
    graph.check()


@pytest.mark.parametrize("count", [2, 3000])
def test_names_of_results_come_once(count: int) -> None:
    graph = sample()
    names = [f"r{place}" for place in range(count)]
    with pytest.raises(GraphError, match="a value called 'r0' exists already"):
        graph.add_node(Foreign("test", "Many", (), count), [graph["x"]], output_names=[*names[:-1], "r0"])
    assert "r0" not in graph
    assert len(graph.add_node(Foreign("test", "Many", (), count), [graph["x"]], output_names=names).outputs) == count


PRIVATE = frozenset({
    *("_type", "_op"),
    *("_graph", "_name", "_producer", "_index", "_uses", "_inputs", "_outputs", "_subgraphs", "_previous", "_next"),
    *("_holders", "_parameters", "_constants", "_counters", "_first", "_last", "_count", "_link", "_unlink"),
})
ATTRIBUTE = re.compile(rf"\.\s*({'|'.join(PRIVATE)})\b")
HOME = ("graphir/graph.py", "graphir/node.py", "graphir/structure/")


def reached(tree: ast.AST) -> list[str]:
    """The private names of graphs, nodes and values that a module takes from something other than itself."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in PRIVATE:
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            if not own:
                found.append(f"{ast.unparse(node)} in line {node.lineno}")
    return found


def test_no_module_but_the_graphs_own_reaches_into_its_privates() -> None:
    root = Path(__file__).parents[2]
    sources = [*root.glob("graphir/**/*.py"), *root.glob("converters/**/*.py")]
    found = {}
    for path in sources:
        place = path.relative_to(root).as_posix()
        if "graphir/converters" in place or place.startswith(HOME):
            continue
        text = path.read_text("utf-8")
        # To parse all modules takes long.
        if ATTRIBUTE.search(text) and (names := reached(ast.parse(text))):
            found[place] = names
    assert not found


CHANGES: tuple[tuple[str, Callable[[Graph], object]], ...] = (
    ("rename", lambda graph: graph.rename(graph["y"], "z")),
    ("replace_uses", lambda graph: graph.replace_uses(graph["y"], graph["x"])),
    ("add", lambda graph: graph.add(Add(), graph["x"], graph["y"])),
)


@pytest.mark.parametrize(("name", "change"), CHANGES)
def test_the_graphs_methods_change_it(name: str, change: Callable[[Graph], object]) -> None:
    graph = sample()
    change(graph)
    graph.check()


def stale(graph: Graph) -> None:
    """A size that no rule would give."""
    graph.retype(graph["y"], TensorType(DType.FLOAT32, (3,)))


def stale_inside(graph: Graph) -> None:
    """A dtype that no rule would give, in a subgraph."""
    inner = Graph("inner", parent=graph)
    value = inner.add(Relu(), graph["x"], output="inside")
    inner.set_outputs([value])
    graph.add_node(If(1), [graph.constant(True)], subgraphs=[inner, inner_of(graph)])
    inner.retype(value, TensorType(DType.FLOAT64, (2,)))


def inner_of(graph: Graph) -> Graph:
    """A branch that gives the graph's input."""
    inner = Graph("other", parent=graph)
    inner.set_outputs([inner.add(Relu(), graph["x"])])
    return inner


def stale_elements(graph: Graph) -> None:
    """Elements that were known before their source got another shape."""
    size = graph.add(Shape(), graph["x"], output="size")
    graph.check()
    size.known = Known.vector([5])


STALE: tuple[tuple[Callable[[Graph], None], str], ...] = (
    (stale, r"types contradict each other: y is float32\[3\].* node n .Relu.* makes it float32\[2\]"),
    (stale_inside, "inside is held to be float64.2., but is inferred to be float32.2."),
    (stale_elements, r"size is held to be \[5\], but is inferred to be \[2\]"),
)


@pytest.mark.parametrize(("change", "text"), STALE)
def test_a_check_asks_the_rules_again(change: Callable[[Graph], None], text: str) -> None:
    graph = sample()
    graph.check()
    change(graph)
    with pytest.raises(GraphError, match=text):
        graph.check()


def test_what_is_stored_may_say_more_than_the_rules() -> None:
    graph = Graph("open")
    x = graph.add_input("x", TensorType(DType.FLOAT32))
    y = graph.add(Relu(), x)
    graph.refine(y, TensorType(DType.FLOAT32, (4, 2)))
    graph.check()
