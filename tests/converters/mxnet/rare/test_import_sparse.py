"""Operators that count what a sparse array stores, on arrays that a symbol casts: as live MXNet computes them."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir.converters.mxnet import from_symbol
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.errors import UnsupportedOpError
from graphir.graph import Graph
from tests.building import run_model
from tests.equivalence.live import Live
from tests.requirements import needing

Node = tuple[str, Mapping[str, object]]
ROWS, MATRIX, DENSE = ({"stype": name} for name in ("row_sparse", "csr", "default"))
DATA = np.array([[0, 1, 0], [0, 0, 0], [2, -3, 0], [0, 0, np.nan]], np.float32)
OTHER = np.array([[0, 2, 1], [1, 1, 0], [2, 0, 0], [1, 1, 1]], np.float32)
NAMES = np.array([0, 2], np.int64)


def symbol(*nodes: Node, second: bool = False) -> str:
    """A chain of nodes over `data`; the last one reads `other` too if `second`."""
    found: list[dict[str, object]] = [{"op": "null", "name": name, "inputs": []} for name in ("data", "other")]
    read = 0
    for place, (op, attrs) in enumerate(nodes):
        inputs = [[read, 0, 0], *([[1, 0, 0]] if second and place == len(nodes) - 1 else [])]
        texts = {key: str(value) for key, value in attrs.items()}
        found.append({"op": op, "name": f"n{place}", "attrs": texts, "inputs": inputs})
        read = len(found) - 1
    release = {"mxnet_version": ["int", 10901]}
    return json.dumps({"nodes": found, "arg_nodes": [0, 1], "heads": [[read, 0, 0]], "attrs": release})


def graph_of(text: str, other: NDArray[np.generic]) -> Graph:
    """The import of such a symbol."""
    dtypes = {"data": DATA.dtype, "other": other.dtype}
    return from_symbol(text, {}, {"data": DATA.shape, "other": other.shape}, dtypes=dtypes)


TABLE: tuple[tuple[str, str, NDArray[np.generic]], ...] = (
    ("plus to rows", symbol(("cast_storage", ROWS), ("_scatter_plus_scalar", {"scalar": 2.5})), OTHER),
    ("plus to a matrix", symbol(("cast_storage", MATRIX), ("_scatter_plus_scalar", {"scalar": 2.5})), OTHER),
    ("minus to rows", symbol(("cast_storage", ROWS), ("_scatter_minus_scalar", {"scalar": 1})), OTHER),
    ("plus to what became dense again",
     symbol(("cast_storage", ROWS), ("cast_storage", DENSE), ("_scatter_plus_scalar", {"scalar": 2.5})), OTHER),
    ("division of rows", symbol(("cast_storage", ROWS), ("_scatter_elemwise_div", {}), second=True), OTHER),
    ("division of a matrix", symbol(("cast_storage", MATRIX), ("_scatter_elemwise_div", {}), second=True), OTHER),
    ("retained rows", symbol(("cast_storage", ROWS), ("_sparse_retain", {}), second=True), NAMES),
    ("retained rows by floats", symbol(("cast_storage", ROWS), ("_sparse_retain", {}), second=True),
     NAMES.astype(np.float32)),
    ("stored elements", symbol(("cast_storage", MATRIX), ("_contrib_getnnz", {})), OTHER),
    ("stored elements of rows", symbol(("cast_storage", MATRIX), ("_contrib_getnnz", {"axis": 1})), OTHER),
)  # fmt: skip

REFUSED: tuple[tuple[str, str], ...] = (
    ("what it stores is not known",
     symbol(("cast_storage", ROWS), ("relu", {}), ("_scatter_plus_scalar", {"scalar": 1}))),
    ("not row_sparse", symbol(("relu", {}), ("_sparse_retain", {}), second=True)),
    ("not row_sparse", symbol(("cast_storage", MATRIX), ("_sparse_retain", {}), second=True)),
    ("not csr", symbol(("_contrib_getnnz", {}))),
    ("axis 0", symbol(("cast_storage", MATRIX), ("_contrib_getnnz", {"axis": 0}))),
)  # fmt: skip


@pytest.mark.live
@pytest.mark.parametrize("text, other", [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_onnxruntime_computes_what_mxnet_does(text: str, other: NDArray[np.generic], live: Live) -> None:
    with needing("MXNet"):
        (wanted,) = live.run(text, {"data": DATA, "other": other} if '[1, 0, 0]' in text else {"data": DATA}).values()
    graph = graph_of(text, other)
    arrays = {"data": DATA, "other": other}
    (found,) = run_model(graph, {value.name: arrays[value.name] for value in graph.inputs}).values()
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    assert np.array_equal(found, wanted, equal_nan=wanted.dtype.kind == "f")
    assert graph.outputs[0].shape == wanted.shape
    with np.errstate(all="ignore"):
        (computed,) = evaluate(read_symbol(text), arrays).values()
    assert (computed.dtype, computed.shape) == (wanted.dtype, wanted.shape)
    assert np.array_equal(computed, wanted, equal_nan=wanted.dtype.kind == "f")
    assert any(decision.kind == "sparse weights" for decision in graph.decisions)


@pytest.mark.parametrize("reason, text", REFUSED, ids=[f"{row[0]}-{place}" for place, row in enumerate(REFUSED)])
def test_what_is_not_known_is_refused(reason: str, text: str) -> None:
    with pytest.raises(UnsupportedOpError, match=reason):
        graph_of(text, NAMES)


def test_a_variable_that_is_declared_sparse_is_refused_where_it_matters() -> None:
    text = symbol(("_scatter_plus_scalar", {"scalar": 1})).replace(
        '"name": "data"', '"name": "data", "attrs": {"__storage_type__": "1"}'
    )
    with pytest.raises(UnsupportedOpError, match="only the one who feeds it knows"):
        graph_of(text, NAMES)
