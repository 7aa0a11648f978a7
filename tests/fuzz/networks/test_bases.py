"""Another basis is proven by multiplying: neither a wrong value nor a wrong vector passes for one."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.fuzz.networks.bases import RESULTS, alone, asked, decomposes, given
from tests.fuzz.networks.draw import Drawn
from tests.fuzz.networks.network import Array, Document, document

# Two equal values and a third.
MATRIX = np.array([[2, 0, 0], [0, 3, 1], [0, 1, 3]], np.float64)


def results(op: str) -> list[Array]:
    """A decomposition of the matrix by numpy."""
    values, columns = np.linalg.eigh(MATRIX)
    if op == "_npi_svd":
        return list(np.linalg.svd(MATRIX))
    return [values, columns] if op == "_npi_eigh" else [columns.T, values]


def turned(op: str, vectors: Array) -> Array:
    """Vectors with another sign of the first."""
    return vectors * (np.array([[-1], [1], [1]]) if op == "_linalg_syevd" else np.array([-1, 1, 1]))


SYMMETRIC = [op for op in RESULTS if op != "_linalg_gelqf"]


def test_rows_that_the_rank_lacks_are_free() -> None:
    matrix = np.array([[3.0, 4, 0], [6, 8, 0]])
    rows = np.array([[0.6, 0.8, 0], [0, 0, 1]])
    lower = np.array([[5.0, 0], [10, 0]])
    node = {"op": "_linalg_gelqf"}
    true = [rows, lower]
    assert decomposes(node, matrix, [np.array([[0.6, 0.8, 0], [0.8, -0.6, 0]]), lower], true)
    assert not decomposes(node, matrix, [np.array([[0.6, 0.8, 0], [0.6, 0.8, 0]]), lower], true)
    assert not decomposes(node, matrix, [np.array([[0.6, 0.8, 0], [0.8, -0.6, 0]]), lower * 1.001], true)
    assert not decomposes(node, matrix, [np.array([[0, 0, 1], [0.6, 0.8, 0]]), lower[:, ::-1]], true)


@pytest.mark.parametrize("op", SYMMETRIC)
def test_signs_are_free(op: str) -> None:
    true = results(op)
    found = [turned(op, each) if each.ndim == 2 else each for each in true]
    if op == "_npi_svd":
        found[2] = true[2] * np.array([[-1], [1], [1]])
    assert decomposes({"op": op}, MATRIX, found, true)


@pytest.mark.parametrize("slot", range(3))
@pytest.mark.parametrize("op", SYMMETRIC)
def test_wrong_numbers_are_none(op: str, slot: int) -> None:
    true = results(op)
    found = [each * (1 + 1e-3) if place == slot % len(true) else each for place, each in enumerate(true)]
    assert not decomposes({"op": op}, MATRIX, found, true)
    swapped = [np.flip(each, -1) if place == slot % len(true) else each for place, each in enumerate(true)]
    assert not decomposes({"op": op}, MATRIX, swapped, true)


def test_of_singular_vectors_both_turn() -> None:
    true = results("_npi_svd")
    assert not decomposes({"op": "_npi_svd"}, MATRIX, [true[0] * np.array([-1, 1, 1]), *true[1:]], true)


def test_a_network_reads_what_is_given_in_place_of_a_node() -> None:
    nodes: list[Document] = [
        {"op": "null", "name": "x", "inputs": []},
        {"op": "relu", "name": "r", "inputs": [[0, 0, 0]]},
        {"op": "_npi_eigh", "name": "e", "inputs": [[1, 0, 0]], "attrs": {"UPLO": "L"}},
        {"op": "broadcast_add", "name": "a", "inputs": [[2, 1, 0], [1, 0, 0]]},
    ]
    text = json.dumps(document(nodes, [(3, 0), (2, 0)]))
    drawn = Drawn(text, {"x": MATRIX}, frozenset(), False, False)
    assert json.loads(asked(text, 2))["heads"] == [[1, 0, 0], [2, 0, 0], [2, 1, 0]]
    assert [node["op"] for node in json.loads(alone(drawn, 2, MATRIX).symbol)["nodes"]] == ["null", "_npi_eigh"]
    found = given(drawn, {2: results("_npi_eigh")})
    symbol = json.loads(found.symbol)
    names = [node["name"] for node in symbol["nodes"]]
    reads = {node["name"]: [names[place] for place, *_ in node["inputs"]] for node in symbol["nodes"]}
    assert reads["a"] == ["e_given1_read", "r"]
    assert [names[place] for place, *_ in symbol["heads"]] == ["a", "e_given0_read"]
    assert set(found.arrays) == {"x", "e_given0", "e_given1"}
