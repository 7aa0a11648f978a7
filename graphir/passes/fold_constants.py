"""Constant folding: what is computed from constants alone becomes a constant.

Integers that inference follows need no computation. The rest is computed by onnxruntime, all of it in one session, so
that the numbers are those that running the graph would give; where it lacks a kernel the node stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.errors import GraphirError
from graphir.graph import Graph, Node, Value
from graphir.ops import random
from graphir.ops.activation import Dropout
from graphir.ops.creation import Fill
from graphir.ops.detection import BoxNMS, MultiBoxDetection, NonMaxSuppression, RoiAlign
from graphir.ops.elementwise import Identity
from graphir.ops.foreign import Foreign
from graphir.ops.image import Col2Im
from graphir.ops.linear import Einsum
from graphir.ops.normalization import LRN
from graphir.ops.pooling import AveragePool, LpPool, MaxPool, MaxRoiPool
from graphir.ops.resize import Resize
from graphir.ops.selection import Compress, NonZero, Unique
from graphir.ops.signal import DFT, STFT
from graphir.ops.text import TfIdfVectorizer
from graphir.tensor import Tensor
from graphir.types import Dim, DType, TensorType

from .dead_code import remove_dead_code
from .inline import is_held, is_needed

LIMIT = 1 << 16
LIMIT_OF_HEAVY = 1 << 11
MOST_WORK = 10_000_000
# Work that grows faster than what goes in and out, and is not counted by `macs`.
HEAVY = frozenset({
    AveragePool, BoxNMS, Col2Im, DFT, Einsum, LRN, LpPool, MaxPool, MaxRoiPool, MultiBoxDetection, NonMaxSuppression,
    Resize, RoiAlign, STFT, TfIdfVectorizer,
})  # fmt: skip
BOUNDED = frozenset({NonZero, Compress, Unique})
UNFIT = frozenset({*random.OPERATORS, Dropout, Fill, Foreign})
Arrays = dict[Value, NDArray[Any]]


def fold_constants(graph: Graph, *, limit: int = LIMIT) -> bool:
    """Known integers and what depends on constants alone become parameters. Whether anything changed.

    Nodes that take or give a tensor of more than `limit` elements are not computed, so that weights stay where they
    are. Results keep their names; one that is an output becomes a copy of the constant. Where floats were computed
    that is a decision. Linear in nodes. Raises ProviderError if onnxruntime is needed and not installed.
    """
    changed = fold_known(graph)
    failed: set[Node] = set()
    count = -1
    while len(failed) > count:  # what a node without kernel takes is wanted, too, once that is known
        count = len(failed)
        found = _evaluated(graph, _frontier(graph, limit, failed), limit, failed)
    if found:
        floats = [value.name for value in found if value.dtype is not None and value.dtype.is_float]
        if floats:
            from graphir.runtime.evaluate import evaluator

            shown = ", ".join(floats[:5]) + (f" and {len(floats) - 5} more" if len(floats) > 5 else "")
            graph.decide("constants computed", "-", f"by {evaluator()}: {shown}")
        for value, array in found.items():
            _replace(graph, value, array)
        changed = True
    if changed:
        remove_dead_code(graph)
    return changed


def fold_known(graph: Graph) -> bool:
    """Results whose elements inference knows become constants; whether there were any. Linear in nodes."""
    changed = False
    for node in list(graph.nodes):
        for value in node.outputs if not _is_copy_for_output(graph, node) else ():
            known = None if value.known is None else value.known.integers()
            if known is not None and value.known is not None and value.dtype is not None and is_needed(value):
                array = np.array(known, dtype=value.dtype.numpy()).reshape(value.known.shape)
                _replace(graph, value, array)
                changed = True
    if changed:
        remove_dead_code(graph)
    return changed


def evaluated(graph: Graph, wanted: Sequence[Value], limit: int = LIMIT) -> Arrays:
    """The elements of those of the wanted values that depend on constants alone and that onnxruntime can compute.

    Raises ProviderError if it is not installed.
    """
    return _evaluated(graph, wanted, limit, set())


def _evaluated(graph: Graph, wanted: Sequence[Value], limit: int, failed: set[Node]) -> Arrays:
    """See `evaluated`; nodes for which there is no kernel join `failed`."""
    nodes = _cone(wanted, limit)
    if not nodes:
        return {}
    targets = [value for value in wanted if value.producer is not None and value.producer in nodes]
    return {
        value: array
        for value, array in _compute(graph, list(nodes), targets, {}, failed).items()
        if array.size <= limit and array.dtype == _numpy(value, array)
    }


def _numpy(value: Value, array: NDArray[Any]) -> object:
    return array.dtype if value.dtype is None else value.dtype.numpy()


def _frontier(graph: Graph, limit: int, failed: set[Node]) -> list[Value]:
    """The values that nodes of constants, besides those that failed, give to others, or to the outside."""
    inside: set[Node] = set()
    for node in graph.nodes:
        if node in failed or _is_copy_for_output(graph, node) or not _is_fit(node, limit):
            continue
        if all(value is None or _is_constant(value, limit) or value.producer in inside for value in node.inputs):
            inside.add(node)
    return [
        value
        for node in graph.nodes
        if node in inside
        for value in node.outputs
        if is_held(value) or any(user not in inside for user in value.users())
    ]


def _cone(wanted: Iterable[Value], limit: int) -> dict[Node, None]:
    """The nodes that the wanted values are computed by, in order, of those that depend on constants alone."""
    verdicts: dict[Node, bool] = {}
    order: dict[Node, None] = {}
    stack = [value.producer for value in wanted if value.producer is not None][::-1]
    while stack:
        node = stack[-1]
        if node in verdicts:
            stack.pop()
            continue
        before = [value.producer for value in node.inputs if value is not None and value.producer is not None]
        open_ones = [producer for producer in before if producer not in verdicts]
        if open_ones and _is_fit(node, limit):
            stack.extend(open_ones)
            continue
        stack.pop()
        verdicts[node] = _is_fit(node, limit) and all(
            value is None or (_is_constant(value, limit) if value.producer is None else verdicts[value.producer])
            for value in node.inputs
        )
        if verdicts[node]:
            order[node] = None
    return order


def _is_fit(node: Node, limit: int) -> bool:
    """Whether the node gives the same tensors each time, all of them small, and is little work.

    A result of unknown size may be of any, unless the operator gives no more than it takes; once what its size depends
    on is computed, the next round knows it. Texts have no size: a few nodes make them as long as memory.
    """
    if type(node.op) in UNFIT or node.subgraphs:
        return False
    most = min(limit, LIMIT_OF_HEAVY) if type(node.op) in HEAVY else limit
    for value in node.outputs:
        if value.dtype is DType.STRING or not isinstance(value.type, TensorType):
            return False
        count = value.type.elements()
        if (count > most) if isinstance(count, int) else (type(node.op) not in BOUNDED):
            return False
    return not isinstance(work := _work(node), int) or work <= MOST_WORK


def _work(node: Node) -> Dim:
    """Multiply-accumulate operations of a node; too many for a heavy one whose operands are not small."""
    operands = tuple([value.type if value is not None and isinstance(value.type, TensorType) else None
                      for value in node.inputs])  # fmt: skip
    if type(node.op) in HEAVY:
        counts = [type_.elements() for type_ in operands if type_ is not None]
        if any(not isinstance(count, int) or count > LIMIT_OF_HEAVY for count in counts):
            return MOST_WORK + 1
    results = tuple([value.type for value in node.outputs if isinstance(value.type, TensorType)])
    return node.op.macs(operands, results)


def _is_constant(value: Value, limit: int) -> bool:
    return value.tensor is not None and value.tensor.size <= limit


def _is_copy_for_output(graph: Graph, node: Node) -> bool:
    """Whether the node is what folding leaves of an output: a copy of a parameter."""
    if not isinstance(node.op, Identity) or not graph.is_output(node.outputs[0]):
        return False
    return node.inputs[0] is not None and node.inputs[0].tensor is not None


def _compute(
    graph: Graph, nodes: Sequence[Node], wanted: Sequence[Value], known: Arrays, failed: set[Node]
) -> Arrays:
    """The wanted values that can be computed; `known` holds those of nodes before these.

    If one node cannot be, the halves are computed one after the other, and so on, down to that node, which has failed.
    """
    nodes = _computable(nodes, known)
    inside = set(nodes)
    own = [value for value in wanted if value.producer in inside]
    if not own:
        return {}
    found = _run(graph, nodes, own, known)
    if found is not None:
        return found
    if len(nodes) == 1:
        failed.update(nodes)
        return {}
    middle = len(nodes) // 2
    first, second = nodes[:middle], nodes[middle:]
    needed = {value for node in second for value in node.inputs if value is not None}
    between = [value for node in first for value in node.outputs if value in needed]
    before = _compute(graph, first, list(dict.fromkeys([*own, *between])), known, failed)
    after = _compute(graph, second, own, {**known, **before}, failed)
    chosen = set(own)
    return {value: array for value, array in {**before, **after}.items() if value in chosen}


def _computable(nodes: Sequence[Node], known: Arrays) -> list[Node]:
    """The nodes whose operands are there."""
    kept: dict[Node, None] = {}
    for node in nodes:
        if all(
            value is None or value.producer is None or value in known or value.producer in kept
            for value in node.inputs
        ):
            kept[node] = None
    return list(kept)


def _run(graph: Graph, nodes: Sequence[Node], wanted: Sequence[Value], known: Arrays) -> Arrays | None:
    """The wanted values, None if the nodes cannot be computed together."""
    from graphir.runtime.evaluate import evaluate

    part = Graph("constants")
    part.metadata = dict(graph.metadata)
    images: dict[Value, Value] = {}
    try:
        for node in nodes:
            for value in node.inputs:
                if value is not None and value not in images:
                    tensor = value.tensor if value.tensor is not None else Tensor.of(known[value])
                    images[value] = part.add_parameter(part.fresh_name("constant"), tensor)
            operands = [None if value is None else images[value] for value in node.inputs]
            images.update(zip(node.outputs, part.add_node(node.op, operands, name=node.name).outputs, strict=True))
    except GraphirError:
        return None
    part.set_outputs([images[value] for value in wanted])
    names = {images[value].name: value for value in wanted}
    arrays = evaluate(part)
    return None if arrays is None else {names[name]: array for name, array in arrays.items()}


def _replace(graph: Graph, value: Value, array: NDArray[Any]) -> None:
    """Let a parameter stand for the value, which is a result that nothing uses any more then.

    It takes the value's name; for an output a copy of it does, because an output must be a result to keep its name.
    """
    name, producer = value.name, value.producer
    assert producer is not None
    is_output = graph.is_output(value)
    made = graph.add_parameter(graph.fresh_name(f"{name}_value"), Tensor.of(array))
    made.sources = value.sources
    graph.rename(value, graph.fresh_name(f"{name}_computed"))
    if is_output:
        graph.replace_uses(value, made, outputs=False)
        graph.replace_uses(value, graph.add(Identity(), made, name=name, output=name, before=producer))
    else:
        graph.replace_uses(value, made)
        graph.rename(made, name)


__all__ = ["LIMIT", "evaluated", "fold_constants", "fold_known"]
