"""Sizes that a model leaves open get names that people read, and one name for the batch of all inputs.

That the open first sizes of several inputs are one batch is an assumption where the model does not say so. It is made
unless the graph contradicts it: where a value has both sizes on different axes, or adds or multiplies them, they are
two. An input whose second size is open too may have its steps first; its first size joins only where the graph
broadcasts it with another one's, or concatenates the two along another axis.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace

from graphir.decisions import DecisionKind
from graphir.graph import Graph, Value
from graphir.node import Node, set_type
from graphir.ops.base import Known
from graphir.ops.shape_parts import Concat
from graphir.structure.reaching import graphs_within
from graphir.structure.record import mutable_record
from graphir.symbolic.dims import Call, substitute
from graphir.types import Dim, MapType, OptionalType, SequenceType, Sym, TensorType, Type, symbol

KIND = DecisionKind.BATCH
BATCH = "N"
Pair = frozenset[str]
Letter = Callable[[Value, int], str]


@mutable_record
class _Relations:
    """Of symbols: which pairs cannot be one size, and which are broadcast with each other or must be equal."""

    apart: set[Pair] = field(default_factory=set)
    met: set[Pair] = field(default_factory=set)


def name_open_sizes(graph: Graph, opened: Mapping[str, tuple[Value, int]], letter: Letter, *, one_batch: bool) -> None:
    """Rename the symbols of open sizes: `opened` says for each whose it is, and on which axis.

    `letter` is what such a size is called; a number behind it tells several apart. With `one_batch` the model states
    that all inputs have one batch. Names that inputs have otherwise stay as they are, and first sizes join them. That
    sizes of several inputs become one is a decision. Linear in values.
    """
    if not opened:
        return
    firsts = _first_sizes(graph)
    groups = _groups(graph, firsts, one_batch=one_batch)
    kept = {name for value in graph.inputs for dim in value.shape or () for name in _names(dim)} - opened.keys()
    names: dict[str, str] = {}
    for group in groups:
        stated = [name for name in group if name in kept]
        if any(name in opened for name in group):
            chosen = stated[0] if stated else _free(BATCH, {*kept, *names.values()})
            names.update((name, chosen) for name in group if name in opened)
    for name, (value, axis) in opened.items():
        if name not in names:
            names[name] = _free(letter(value, axis), {*kept, *names.values()})
    _rename(graph, names)
    for group in groups:
        _decide(graph, [value.name for name in group for value in firsts[name]], names.get(group[0], group[0]))


def _decide(graph: Graph, inputs: list[str], name: str) -> None:
    if len(inputs) > 1:
        graph.decide(KIND, "-", f"the first sizes of {', '.join(inputs)} are taken to be one batch, {name}")


def _first_sizes(graph: Graph) -> dict[str, list[Value]]:
    """Return the inputs whose first size is a symbol, by it."""
    values_by_name: dict[str, list[Value]] = {}
    for value in graph.inputs:
        first = value.shape[0] if value.shape else None
        if isinstance(first, Sym) and len(first.symbols()) == 1:
            (name,) = first.symbols()
            if first == symbol(name):
                values_by_name.setdefault(name, []).append(value)
    return values_by_name


def _groups(graph: Graph, firsts: Mapping[str, list[Value]], *, one_batch: bool) -> list[list[str]]:
    """Return the symbols that are one batch each, in the order of the inputs."""
    if len(firsts) < 2:
        return [[name] for name in firsts]
    relations = _relations(graph, frozenset(firsts))
    groups: list[list[str]] = []
    for name, values in firsts.items():
        may_be_steps = _is_wide(values)
        for group in groups:
            pairs = [frozenset({name, other}) for other in group]
            sure = one_batch or any(pair in relations.met for pair in pairs)
            usual = not may_be_steps and not any(_is_wide(firsts[other]) for other in group)
            if (sure or usual) and not any(pair in relations.apart for pair in pairs):
                group.append(name)
                break
        else:
            groups.append([name])
    return groups


def _is_wide(values: list[Value]) -> bool:
    return any(len(value.shape or ()) > 1 and isinstance((value.shape or ())[1], Sym) for value in values)


def _relations(graph: Graph, names: Pair) -> _Relations:
    relations = _Relations()
    seen: set[tuple[Dim, ...]] = set()
    for value in _values(graph):
        shape = value.shape
        if shape is None or shape in seen:
            continue
        seen.add(shape)
        names_by_axis = [names & frozenset(_names(dim)) for dim in shape]
        for axis, here in enumerate(names_by_axis):
            behind = frozenset[str]().union(*names_by_axis[axis + 1 :])
            relations.apart.update(frozenset({name, other}) for name in here for other in behind if name != other)
            if len(here) > 1:
                _relate(shape[axis], names, relations)
    for node in graph.nodes:
        if isinstance(node.op, Concat):
            relations.met.update(_pairs_joined(node, node.op, names))
    return relations


def _pairs_joined(node: Node, op: Concat, names: Pair) -> Iterator[Pair]:
    """Yield the pairs that stand on one axis of tensors that are joined along another one, where sizes must be
    equal."""
    shapes = [value.shape for value in node.inputs if value is not None and value.shape]
    for shape in shapes:
        other = op.axis % len(shape)
        for axis, (dim, first) in enumerate(zip(shape, shapes[0], strict=False)):
            pair = names & (_names(dim) | _names(first))
            if axis != other and len(pair) == 2:
                yield pair


def _relate(dim: Dim, names: Pair, relations: _Relations) -> None:
    """Note how a size is made of several symbols: broadcast together, or combined, which sets them apart."""
    if not isinstance(dim, Sym):
        return
    atoms = {atom for mono, _ in dim.terms for atom in mono}
    inside = [names & ({atom} if isinstance(atom, str) else _names(atom.left) | _names(atom.right)) for atom in atoms]
    for index, here in enumerate(inside):
        for behind in inside[index + 1 :]:
            relations.apart.update(frozenset({name, other}) for name in here for other in behind if name != other)
    for atom in atoms:
        if not isinstance(atom, Call):
            continue
        left, right = names & frozenset(_names(atom.left)), names & frozenset(_names(atom.right))
        pairs = {frozenset({name, other}) for name in left for other in right if name != other}
        (relations.met if atom.function == "max" else relations.apart).update(pairs)
        _relate(atom.left, names, relations)
        _relate(atom.right, names, relations)


def _names(dim: object) -> frozenset[str]:
    return dim.symbols() if isinstance(dim, Sym) else frozenset()


def _free(wanted: str, taken: set[str]) -> str:
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}{number}", number + 1
    return name


def _values(graph: Graph) -> Iterator[Value]:
    return (value for inner in graphs_within(graph) for value in inner.values)


def _rename(graph: Graph, names: Mapping[str, str]) -> None:
    """Put the names into every type and known element, and into what was decided so far."""
    sizes = {old: symbol(new) for old, new in names.items()}
    for value in _values(graph):
        set_type(value, _rename_sizes(value.type, sizes))
        value.declared = _rename_sizes(value.declared, sizes)
        if value.known is not None and any(isinstance(element, Sym) for element in value.known.elements):
            elements = tuple(substitute(element, sizes) for element in value.known.elements)  # type: ignore[arg-type]
            value.known = Known(value.known.shape, elements)
    words = re.compile("|".join(rf"\b{re.escape(old)}\b" for old in names))
    graph.decisions[:] = [
        replace(decision, text=words.sub(lambda match: names[match.group()], decision.text))
        for decision in graph.decisions
    ]


def _rename_sizes(type_: Type, sizes: Mapping[str, Dim]) -> Type:
    if isinstance(type_, SequenceType | OptionalType | MapType):
        return replace(type_, element=_rename_sizes(type_.element, sizes))
    if not isinstance(type_, TensorType) or not any(isinstance(dim, Sym) for dim in type_.shape or ()):
        return type_
    return TensorType(type_.dtype, tuple(substitute(dim, sizes) for dim in type_.shape or ()))
