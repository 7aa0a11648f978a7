"""Decompositions whose vectors are free: a sign of each eigenvector, a turn among equal ones, a null space.

A network that reads such vectors may differ from MXNet by them alone. The proof has two halves: what a road computes of
the node's operand is a decomposition of it, and so is MXNet's; and the rest of the network, with MXNet's vectors in
place of the node, gives MXNet's results.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tests.fuzz.networks.draw import Drawn
from tests.fuzz.networks.network import Array, Document, document

RESULTS = {"_linalg_syevd": 2, "_npi_eigh": 2, "_npi_svd": 3, "_linalg_gelqf": 2}
CLOSE = {"float32": 1e-4, "float64": 1e-8}  # of the largest element


def places(symbol: str) -> dict[int, Document]:
    """The nodes whose vectors are free, by their place."""
    return {place: node for place, node in enumerate(json.loads(symbol)["nodes"]) if node["op"] in RESULTS}


def asked(symbol: str, place: int) -> str:
    """The symbol with other heads: the operand of the node and its results."""
    found = json.loads(symbol)
    node = found["nodes"][place]
    heads = [node["inputs"][0], *([place, slot, 0] for slot in range(RESULTS[node["op"]]))]
    return json.dumps(found | {"heads": heads})


def alone(drawn: Drawn, place: int, operand: Array) -> Drawn:
    """The node over a variable."""
    found = json.loads(drawn.symbol)
    node = found["nodes"][place] | {"inputs": [[0, 0, 0]]}
    heads = [(1, slot) for slot in range(RESULTS[node["op"]])]
    nodes = [{"op": "null", "name": "operand", "inputs": []}, node]
    text = json.dumps(document(nodes, heads, "is_np_shape" in found["attrs"]))
    return replace(drawn, symbol=text, arrays={"operand": operand}, params=frozenset())


def given(drawn: Drawn, results: Mapping[int, Sequence[Array]]) -> Drawn:
    """The network with the results of some nodes as inputs."""
    found = json.loads(drawn.symbol)
    nodes: list[Document] = []
    arrays, moved = dict(drawn.arrays), dict[tuple[int, int], tuple[int, int]]()
    for place, node in enumerate(found["nodes"]):
        if place not in results:
            moved |= {(place, slot): (len(nodes), slot) for slot in range(64)}
            nodes.append(node | {"inputs": [[*moved[source, slot], 0] for source, slot, _ in node["inputs"]]})
            continue
        for slot, array in enumerate(results[place]):
            name = f"{node['name']}_given{slot}"
            nodes.append({"op": "null", "name": name, "inputs": []})
            nodes.append({"op": "_copy", "name": f"{name}_read", "inputs": [[len(nodes) - 1, 0, 0]]})
            arrays[name] = array
            moved[place, slot] = len(nodes) - 1, 0
    heads = [moved[place, slot] for place, slot, _ in found["heads"]]
    text = json.dumps(document(nodes, heads, "is_np_shape" in found["attrs"]))
    return replace(drawn, symbol=text, arrays=arrays)


def decomposes(node: Document, operand: Array, results: Sequence[Array], true: Sequence[Array]) -> bool:
    """Whether results are orthonormal vectors and values that multiply to the operand, the values those of MXNet."""
    if [array.shape for array in results] != [array.shape for array in true]:
        return False
    if node["op"] == "_linalg_gelqf":
        return _is_lq(operand.astype(np.float64), results)
    left, values, right = _factors(node, results)
    wanted = _factors(node, true)[1]
    matrix = operand.astype(np.float64)
    if node["op"] != "_npi_svd":
        lower = np.tril(matrix.swapaxes(-1, -2) if node.get("attrs", {}).get("UPLO") == "U" else matrix)
        matrix = lower + np.tril(lower, -1).swapaxes(-1, -2)
    close = CLOSE[str(results[0].dtype)] * max(float(np.abs(matrix).max(initial=0)), 1e-30)
    pairs = (
        (left @ (values[..., None] * right), matrix, close),
        (values, wanted, close),
        (left.swapaxes(-1, -2) @ left, np.eye(left.shape[-1]), CLOSE[str(results[0].dtype)]),
        (right @ right.swapaxes(-1, -2), np.eye(right.shape[-2]), CLOSE[str(results[0].dtype)]),
    )
    return all(bool((np.abs(found - true) <= limit).all()) for found, true, limit in pairs)


def _is_lq(matrix: Array, results: Sequence[Array]) -> bool:
    """Whether the matrix is a lower triangle times orthonormal rows, in either order; the rows of rank that it lacks
    are free."""
    close = CLOSE[str(results[0].dtype)]
    scale = max(float(np.abs(matrix).max(initial=0)), 1e-30)
    wide = [array.astype(np.float64) for array in results]

    def fits(lower: Array, rows: Array) -> bool:
        if lower.shape[-1] != rows.shape[-2] or lower.shape[-1] != lower.shape[-2]:
            return False
        unit = np.abs(rows @ rows.swapaxes(-1, -2) - np.eye(rows.shape[-2])).max() <= close
        whole = np.abs(lower @ rows - matrix).max() <= close * scale
        return bool(unit and whole and np.abs(np.triu(lower, 1)).max() <= close * scale)

    return fits(wide[0], wide[1]) or fits(wide[1], wide[0])


def _factors(node: Document, results: Sequence[Array]) -> tuple[Array, Array, Array]:
    """Columns, values and rows in float64."""
    wide = [array.astype(np.float64) for array in results]
    if node["op"] == "_npi_svd":
        return wide[0], wide[1], wide[2]
    if node["op"] == "_npi_eigh":
        return wide[1], wide[0], wide[1].swapaxes(-1, -2)
    return wide[0].swapaxes(-1, -2), wide[1], wide[0]


__all__ = ["alone", "asked", "decomposes", "given", "places"]
