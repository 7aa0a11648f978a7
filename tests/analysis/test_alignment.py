"""Which node is which: copies that are renamed, reordered, laid out otherwise, longer or wrong in places."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir.analysis.alignment import align
from graphir.analysis.fingerprint import fingerprint
from graphir.analysis.padding_audit import audit_graphs
from graphir.converters.mxnet import from_symbol
from graphir.converters.table import fixes_of
from graphir.graph import Graph
from graphir.ops.activation import Relu
from graphir.ops.convolution import Conv
from graphir.ops.elementwise import Add
from graphir.ops.shape import Transpose
from graphir.ops.shape_parts import Concat
from graphir.padding import symmetric
from graphir.tensor import Tensor
from graphir.types import DType, TensorType
from tests.typed import present

ARRAY = np.random.default_rng(1).standard_normal((4, 3, 2, 5)).astype(np.float32)
OTHER = ARRAY.copy()
OTHER[1, 2, 0, 3] += 1e-6
PRINTS = [
    (ARRAY, ARRAY.transpose(2, 3, 1, 0), True),
    (ARRAY, ARRAY.reshape(-1), True),
    (ARRAY, OTHER, False),
    (ARRAY, ARRAY.astype(np.float64), False),
    (np.zeros(3, np.float32), -np.zeros(3, np.float32), True),
    (np.zeros(3, np.float32), np.zeros(4, np.float32), False),
    (np.array([1, 1, 2]), np.array([2, 1, 1]), True),
    (np.array([1, 1, 2]), np.array([1, 2, 2]), False),
    (np.array([True, False, False]), np.array([False, False, True]), True),
    (np.arange(600_000, dtype=np.float16), np.arange(600_000, dtype=np.float16)[::-1], True),
    (np.array([1 + 2j, 3]), np.array([3, 1 + 2j]), True),
    (np.array([1 + 2j, 3]), np.array([2 + 1j, 3]), False),
]


@pytest.mark.parametrize(("left", "right", "same"), PRINTS)
def test_fingerprints_see_elements_not_layout(left: NDArray[Any], right: NDArray[Any], same: bool) -> None:
    assert (fingerprint(Tensor.of(left)) == fingerprint(Tensor.of(right))) == same


def network(
    *,
    blocks: int = 3,
    prefix: str = "",
    swap: bool = False,
    weights: bool = True,
    transposes: bool = False,
    tail: bool = False,
) -> Graph:
    """Blocks of two branches that are joined; variants of what another framework may have made of it."""
    graph = Graph("net")
    value = graph.add_input(f"{prefix}x", TensorType(DType.FLOAT32, (1, 4, 9, 9)))
    for block in range(blocks):
        if transposes:
            value = graph.add(Transpose((0, 2, 3, 1)), value)
            value = graph.add(Transpose((0, 3, 1, 2)), value)
        branches = []
        for branch in (1, 0) if swap else (0, 1):
            name = f"{prefix}b{block}_{branch}"
            random = np.random.default_rng([block, branch])
            held = random.standard_normal((2, 4, 3, 3)) if weights else np.ones((2, 4, 3, 3))
            weight = graph.add_parameter(f"{name}_weight", Tensor.of(held.astype(np.float32)))
            made = graph.add(Conv((3, 3), padding=symmetric((1, 1))), value, weight, name=name)
            branches.append(graph.add(Relu(), made, name=f"{name}_relu") if branch else made)
        value = graph.add(Concat(1), *branches, name=f"{prefix}join{block}")
    if tail:
        value = graph.add(Add(), value, value, name=f"{prefix}tail")
    graph.set_outputs([value])
    return graph


def named(graph: Graph, other: Graph) -> dict[str, str | None]:
    """Whom each convolution of the first graph is paired with."""
    return {
        left.name: None if right is None else right.name
        for left, right in align(graph, other).pairs
        if left is not None and isinstance(left.op, Conv)
    }


CONVS = [f"b{block}_{branch}" for block in range(3) for branch in (0, 1)]
COPIES = [
    {"prefix": "z"},
    {"prefix": "z", "swap": True},
    {"prefix": "z", "transposes": True},
    {"prefix": "z", "weights": False},
    {"prefix": "z", "tail": True},
    {"weights": False, "swap": True},
]


@pytest.mark.parametrize("changes", COPIES, ids=str)
def test_a_copy_is_found_again(changes: dict[str, Any]) -> None:
    prefix = changes.get("prefix", "")
    assert named(network(), network(**changes)) == {name: prefix + name for name in CONVS}


def test_of_equal_models_everything_is_paired() -> None:
    graph = network()
    assert all(
        left is not None and left.op == present(right).op for left, right in align(graph, network(prefix="z")).pairs
    )


def test_an_inserted_block_is_what_is_left_over() -> None:
    longer = network(blocks=4, prefix="z")
    assert named(network(), longer) == {name: f"z{name}" for name in CONVS}
    alone = [present(right).name for left, right in align(network(), longer).pairs if left is None]
    assert sorted(alone) == ["zb3_0", "zb3_1", "zb3_1_relu", "zjoin3"]


@pytest.mark.parametrize("count", [1, 40])
def test_pairs_are_in_order_and_complete(count: int) -> None:
    left, right = network(blocks=count), network(blocks=count + 1, prefix="z")
    pairs = align(left, right).pairs
    assert [node for node, _ in pairs if node is not None] == list(left.nodes)
    assert Counter(node.name for _, node in pairs if node is not None) == Counter(node.name for node in right.nodes)


@pytest.fixture(scope="module")
def golden_pair(shared: Path) -> tuple[Graph, Graph, list[dict[str, Any]]]:
    """Inception-ResNet-v2 as Keras has it and as apache/mxnet publishes it, and which layer is which."""
    folder = shared / "golden"
    paths = [folder / f"irv2_{name}_symbol.json" for name in ("keras_port", "apache_example")]
    graphs = [from_symbol(path, shapes={"data": (1, 3, 299, 299)}) for path in paths]
    facts = json.loads((folder / "inception_resnet_v2.json").read_text())["apache_mxnet_example"]["per_conv"]
    return *graphs, facts


def test_every_layer_of_inception_resnet_v2_is_found(golden_pair: tuple[Graph, Graph, list[dict[str, Any]]]) -> None:
    left, right, facts = golden_pair
    wanted = {row["keras"]: row["mxnet"] for row in facts}
    assert named(left, right) == wanted


def test_the_audit_finds_the_published_networks_defects_and_nothing_else(
    golden_pair: tuple[Graph, Graph, list[dict[str, Any]]],
) -> None:
    left, right, facts = golden_pair
    found = audit_graphs(left, right, fixes_of("mxnet"))
    by_kind = {kind: found.count(kind) for kind in ("padding", "filters", "divisor")}
    assert by_kind == {"padding": 40, "filters": 20, "divisor": 1}
    disagreeing = [pair for pair in found.pairs if pair.disagreements]
    assert len(disagreeing) == 61
    held = {(present(pair.right).name, text.kind) for pair in disagreeing for text in pair.disagreements}
    held -= {("pooling2", "divisor")}
    wanted = {(row["mxnet"], "padding") for row in facts if not row["pad_equal"]}
    assert held == wanted | {(row["mxnet"], "filters") for row in facts if not row["channels_equal"]}
    texts = {text.text for pair in disagreeing for text in pair.disagreements if text.kind == "filters"}
    assert texts == {"128 filters in the first model, 129 in the second"}
    fixes = {text.fix for pair in disagreeing for text in pair.disagreements}
    assert fixes == {"pad=(0, 3)", "pad=(3, 0)", "num_filter=128", "count_include_pad=False"}


def test_the_published_network_is_mended_by_the_fixes(
    golden_pair: tuple[Graph, Graph, list[dict[str, Any]]], shared: Path
) -> None:
    """Each of the 61 fixes is an attribute; with all of them done nothing disagrees."""
    left, right, _ = golden_pair
    symbol = json.loads((shared / "golden" / "irv2_apache_example_symbol.json").read_text())
    nodes = {node["name"]: node for node in symbol["nodes"]}
    pairs = audit_graphs(left, right, fixes_of("mxnet")).pairs
    fixes = [(nodes[present(pair.right).name], *text.fix.split("=")) for pair in pairs for text in pair.disagreements]
    changed = [node["attrs"].update({name: value}) for node, name, value in fixes]
    mended = from_symbol(json.dumps(symbol), shapes={"data": (1, 3, 299, 299)})
    assert len(changed) == 61
    assert audit_graphs(left, mended, fixes_of("mxnet")).agrees
