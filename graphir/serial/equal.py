"""Whether two graphs are the same, to the last bit of every attribute and tensor."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import zip_longest

import numpy as np

from graphir.files.regions import SourceFiles
from graphir.graph import Graph, Node, Value
from graphir.tensor import Tensor
from graphir.types import DType


def first_difference(left: Graph, right: Graph) -> str | None:
    """Return the first difference between two graphs in words, None if there is none.

    Compared are names, order, operators with their attributes, types, what was declared, provenance, decisions,
    metadata, subgraphs and the bytes of every tensor. Not compared is what is derived: uses and known elements. Linear
    in the size of the graphs and their weights.
    """
    return next(_differences(left, right, ""), None)


def _differences(left: Graph, right: Graph, path: str) -> Iterator[str]:
    for what in ("name", "metadata", "decisions"):
        yield from _compare(getattr(left, what), getattr(right, what), f"{path}{what}")
    for what in ("inputs", "parameters"):
        ours, theirs = getattr(left, what), getattr(right, what)
        yield from _compare(len(ours), len(theirs), f"{path}number of {what}")
        for a, b in zip(ours, theirs, strict=True):
            yield from _value_differences(a, b, path)
    for a, b in zip_longest(left.nodes, right.nodes):
        if a is None or b is None:
            yield f"{path}the node {(a or b).name} is in one graph only"
            return
        yield from _node_differences(a, b, path)
    ours, theirs = [_reference(left, value) for value in left.outputs], [_reference(right, v) for v in right.outputs]
    yield from _compare(ours, theirs, f"{path}outputs")


def _compare(left: object, right: object, what: str) -> Iterator[str]:
    if left != right:
        yield f"{what}: {left!r} and {right!r}"


def _value_differences(left: Value, right: Value, path: str) -> Iterator[str]:
    for what in ("name", "type", "declared", "sources"):
        yield from _compare(getattr(left, what), getattr(right, what), f"{path}{what} of {left.name}")
    if left.tensor is None or right.tensor is None:
        if left.tensor is not right.tensor:
            yield f"{path}{left.name} has elements in one graph only"
    elif not same_tensor(left.tensor, right.tensor):
        yield f"{path}the elements of {left.name} differ"


def _node_differences(left: Node, right: Node, path: str) -> Iterator[str]:
    assert left.graph is not None
    assert right.graph is not None
    yield from _compare(left.name, right.name, f"{path}name of a node")
    yield from _compare(type(left.op), type(right.op), f"{path}operator of {left.name}")
    if not same_attribute(left.op.attributes(), right.op.attributes()):
        yield f"{path}attributes of {left.name}: {left.op!r} and {right.op!r}"
    yield from _compare(
        [_reference(left.graph, value) for value in left.inputs], [_reference(right.graph, v) for v in right.inputs],
        f"{path}operands of {left.name}",
    )
    yield from _compare(len(left.outputs), len(right.outputs), f"{path}number of results of {left.name}")
    for ours, theirs in zip(left.outputs, right.outputs, strict=True):
        yield from _value_differences(ours, theirs, path)
    yield from _compare(len(left.subgraphs), len(right.subgraphs), f"{path}number of subgraphs of {left.name}")
    for inner_left, inner_right in zip(left.subgraphs, right.subgraphs, strict=True):
        yield from _differences(inner_left, inner_right, f"{path}in {left.name}: ")


def _reference(graph: Graph, value: Value | None) -> tuple[int, str] | None:
    """Return how many graphs further out a value is, and its name."""
    if value is None:
        return None
    around: Graph | None = graph
    up = 0
    while around is not None and value.graph is not around:
        around = around.parent
        up += 1
    return up, value.name


def same_attribute(left: object, right: object) -> bool:
    """Return whether two attributes are equal with their types, floats and tensors to the bit."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same_attribute(left[key], right[key]) for key in left)
    if isinstance(left, float) and isinstance(right, float):
        return struct.pack(">d", left) == struct.pack(">d", right)
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(same_attribute, left, right))
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        return same_tensor(left, right)
    return type(left) is type(right) and left == right


def same_tensor(left: Tensor, right: Tensor, files: SourceFiles | None = None) -> bool:
    """Return whether two tensors have the same dtype, shape and bytes. `files` keeps what they are read from open."""
    if left is right:
        return True
    if left.type != right.type:
        return False
    if left.place is not None and left.place == right.place:
        return True
    if left.dtype is DType.STRING:
        return bool(left.numpy().tolist() == right.numpy().tolist())
    return same_pieces(left.chunks(files), right.chunks(files))


def same_pieces(left: Iterator[memoryview | bytes], right: Iterator[memoryview | bytes]) -> bool:
    """Return whether two runs of pieces are the same bytes, wherever each is cut: files and converted elements come in
    pieces of other sizes."""
    ours = theirs = np.empty(0, np.uint8)
    while True:
        ours = ours if ours.size else np.frombuffer(next(left, b""), np.uint8)
        theirs = theirs if theirs.size else np.frombuffer(next(right, b""), np.uint8)
        size = min(ours.size, theirs.size)
        if not size:
            return ours.size == theirs.size
        if not np.array_equal(ours[:size], theirs[:size]):
            return False
        ours, theirs = ours[size:], theirs[size:]
