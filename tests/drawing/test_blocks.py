"""The tree of boxes: what is collapsed, under which title, and that nothing is lost or drawn in a circle."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from graphir import Graph
from graphir.drawing.blocks import MOST, Box, title_of, tree_of
from graphir.drawing.levels import levels_of
from graphir.drawing.order import crossings, drawn_order, values_read
from graphir.structure.views import captured

from .nets import branching, chain, residuals


def boxes(root: Box) -> Iterator[Box]:
    """A box and all inside."""
    yield root
    for child in root.children:
        yield from boxes(child)


def shown(box: Box) -> str:
    """A box in one line: `3 x block[4]` for a run of three with four nodes each."""
    ends = {"input": f"<{box.title}>", "output": f"{box.title}>"}
    kinds = ends | {"node": box.title, "run": f"{box.times} x {box.title}"}
    return kinds.get(box.kind, f"{box.kind} {box.title}")


def test_a_small_graph_is_drawn_as_it_is() -> None:
    root = tree_of(residuals(2, 2))
    assert [child.kind for child in root.children] == ["input", *["node"] * 20, "output"]


def test_blocks_that_repeat_are_one_box() -> None:
    root = tree_of(residuals(9))
    assert [shown(child) for child in root.children] == [
        "<data>", "stage0_gate", "stage0_mul", "9 x stage0_block", "stage0_block8_add>",
    ]  # fmt: skip
    run = root.children[3]
    assert [shown(child) for child in run.children] == [f"block stage0_block{number}" for number in range(9)]
    assert [leaf.title for leaf in run.children[4].children] == [
        f"stage0_block4_{part}" for part in ("fc", "relu", "tanh", "add")
    ]


def test_stages_of_different_length_repeat_too() -> None:
    root = tree_of(residuals(3, 8, 36, 3))
    assert [shown(child) for child in root.children] == ["<data>", "4 x stage", "stage3_block2_add>"]
    stages = root.children[1].children
    assert [shown(stage) for stage in stages] == [f"block stage{number}" for number in range(4)]
    assert [shown(child) for child in stages[1].children] == ["stage1_gate", "stage1_mul", "8 x stage1_block"]
    assert shown(stages[2].children[2]) == "36 x stage2_block"
    sections = [shown(section) for section in stages[2].children[2].children]
    assert sections == ["section stage2_block 1 to 20", "section stage2_block 21 to 36"]


GRAPHS = {
    "small": lambda: residuals(1),
    "blocks": lambda: residuals(3, 8, 36, 3),
    "chain": lambda: chain([f"part{number // 40}/op{number}" for number in range(1000)]),
    "unnamed": lambda: chain(["n"] * 400),
    "branching": branching,
    "empty": lambda: Graph("empty"),
}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_every_node_has_its_box_and_no_row_is_long(graph: object) -> None:
    made = graph() if callable(graph) else None
    assert isinstance(made, Graph)
    root = tree_of(made)
    inside = list(made.nodes)
    inside += [inner for node in made.nodes for held in node.subgraphs for inner in held.nodes]
    found = [box.node for box in boxes(root) if box.node is not None]
    assert len(found) == len(set(found)) == len(inside)
    assert set(found) == set(inside)
    assert root.leaves == len(inside)
    assert all(len(box.children) <= MOST + 2 * 8 for box in boxes(root))
    assert all(
        child.parent is box and box.children[child.index] is child for box in boxes(root) for child in box.children
    )


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_wires_lead_ahead(graph: object) -> None:
    made = graph() if callable(graph) else None
    assert isinstance(made, Graph)
    levels = levels_of(tree_of(made))
    assert all(maker < reader for level in levels.values() for maker, reader in level.wires)


def test_what_a_subgraph_uses_is_wired_to_its_node() -> None:
    graph = branching()
    node = next(node for node in graph.nodes if node.subgraphs)
    assert [value.name for value in captured(node.subgraphs[0])] == ["hot"]
    levels = levels_of(tree_of(graph))
    wires = {tuple(box.children[end].title for end in wire) for box, level in levels.items() for wire in level.wires}
    assert {("data", "hot"), ("hot", "choice"), ("then_op", "then_op")} <= wires
    body = next(box for box in levels if box.kind == "body")
    assert [value.name for value in levels[body].ins] == ["hot"]


def test_crossings_count_values() -> None:
    graph = residuals(1)
    wires = {node: values_read(node) for node in graph.nodes}
    order = drawn_order(graph, wires)
    assert [node.name for node in order] == [node.name for node in graph.nodes]
    assert crossings(order, wires) == [0, 1, 1, 2, 2, 2, 0]


@pytest.mark.parametrize(
    ("names", "title"),
    [
        (["stage1_conv1", "stage1_relu1"], "stage1"),
        (["encoder/layer_1/query", "encoder/layer_12/add"], "encoder/layer"),
        (["28", "29"], ""),
        (["fc1", "relu1"], ""),
        (["same", "same"], "same"),
        (["layer1Conv", "layer1Relu"], "layer1"),
        ([], ""),
    ],
)
def test_titles(names: list[str], title: str) -> None:
    assert title_of([Box("node", name) for name in names]) == title
