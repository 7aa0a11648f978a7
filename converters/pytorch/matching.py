"""Which layers of two networks are the same: by their graphs, or by names in a state_dict, kind, shape and order."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from graphir.converters.pytorch.exporting.expression import MARK, references
from graphir.converters.pytorch.exporting.state import ATTRIBUTE, Export, Statement

Shapes = tuple[tuple[str, tuple[int, ...]], ...]
COMMUTES = re.compile(rf"(?:{MARK.pattern}) [+*] (?:{MARK.pattern})")
MOMENTUM = re.compile(r", momentum=[^,)]*")
NUMBERS = re.compile(r"(\d+)")
# Tensors of torch's layers; others are a module's own parameters.
OF_LAYERS = re.compile(r"(weight|bias)\w*|running_\w+|num_batches_tracked")
COUNTER = "num_batches_tracked"
NORM_STATE = "running_mean"


@dataclass(frozen=True)
class KeyedLayer:
    """A layer with weights: what its keys begin with, the shapes of its tensors by name, and how torch makes it, which
    a state_dict does not say."""

    key: str
    shapes: Shapes
    constructor: str = ""

    @property
    def shown(self) -> str:
        """The layer for a message."""
        sizes = ", ".join(f"{name} {list(shape)}" for name, shape in self.shapes)
        return f"{self.key}: {sizes}" + (f" ({self.constructor})" if self.constructor else "")


@dataclass
class LayerMatch:
    """The second network's layers by the keys of the first; what is missing on either side, and sets of layers
    that nothing tells apart."""

    pairs: dict[str, KeyedLayer]
    left: list[KeyedLayer]
    missing: list[KeyedLayer]
    ambiguous: list[list[KeyedLayer]]

    @property
    def is_complete(self) -> bool:
        """Whether each layer has its partner."""
        return not (self.left or self.missing or self.ambiguous)


def layers_of(shapes: Mapping[str, tuple[int, ...]], constructors: Mapping[str, str] | None = None) -> list[KeyedLayer]:
    """Return the layers that tensors belong to by their keys, in order; counters are no weights."""
    groups: dict[str, list[tuple[str, tuple[int, ...]]]] = {}
    for key, shape in shapes.items():
        layer, _, name = key.rpartition(".")
        if not layer or not OF_LAYERS.fullmatch(name):
            layer, name = key, ""
        if name != COUNTER:
            groups.setdefault(layer, []).append((name, shape))
    texts = constructors or {}
    return [KeyedLayer(key, tuple(sorted(tensors)), texts.get(key, "")) for key, tensors in groups.items()]


class LayerSequence:
    """The layers of a written module in the order in which they run, and what tells them apart: what comes before
    and behind each."""

    def __init__(self, export: Export) -> None:
        constructors = {layer.attribute: MOMENTUM.sub("", layer.constructor) for layer in export.layers.values()}
        layers = layers_of({key: tensor.shape for key, tensor in export.tensors.items()}, constructors)
        self._statements = list(_flat(export.statements))
        run = dict.fromkeys(name for statement in self._statements for name in ATTRIBUTE.findall(statement.text))
        by_key = {layer.key: layer for layer in layers}
        self.layers = [by_key[name] for name in run if name in by_key]
        self._by_key = by_key
        self._inputs = {export.number(value): place for place, value in enumerate(export.graph.inputs, 1)}
        self._outputs = [references(export.reference(value)) for value in export.graph.outputs]

    def places(self, *, detailed: bool) -> dict[str, Hashable]:
        """Return what stands before and behind each layer, as a number for each way of it. Without `detailed` only
        layers with weights count. Linear in statements."""
        before = self._walk(detailed=detailed)
        behind = self._walk_back(detailed=detailed)
        return {layer.key: (before.get(layer.key), behind.get(layer.key)) for layer in self.layers}

    def following(self) -> dict[str, list[KeyedLayer]]:
        """Return the layers that read what a layer gives, with nothing between."""
        givers: dict[int, str] = {}
        readers: dict[str, list[KeyedLayer]] = defaultdict(list)
        for statement in self._statements:
            names = self._weighted(statement)
            for number in references(statement.text):
                if number in givers:
                    readers[givers[number]] += [self._by_key[name] for name in names]
            givers.update(dict.fromkeys(statement.targets, names[0]) if names else {})
        return readers

    def _weighted(self, statement: Statement) -> list[str]:
        return [name for name in dict.fromkeys(ATTRIBUTE.findall(statement.text)) if name in self._by_key]

    def _label(self, statement: Statement, names: Sequence[str], *, detailed: bool) -> Hashable:
        layers = tuple((self._by_key[name].shapes, self._by_key[name].constructor) for name in names)
        text = ATTRIBUTE.sub("self", MARK.sub("x", statement.text)) if detailed else ""
        return layers, text

    def _walk(self, *, detailed: bool) -> dict[str, Hashable]:
        """By layer what it reads, from the inputs on."""
        values = dict(self._inputs)
        result: dict[str, Hashable] = {}
        for statement in self._statements:
            names = self._weighted(statement)
            read = [values.get(number, 0) for number in references(statement.text)]
            if not detailed or COMMUTES.fullmatch(statement.text):
                read.sort()
            if not detailed:
                read = sorted(set(read))
            if detailed or names or len(read) != 1:
                code = hash((self._label(statement, names, detailed=detailed), tuple(read)))
            else:
                (code,) = read
            result.update((name, code) for name in names)
            values.update(dict.fromkeys(statement.targets, code))
        return result

    def _walk_back(self, *, detailed: bool) -> dict[str, Hashable]:
        """By layer what reads it, to the outputs."""
        uses: dict[int, list[int]] = defaultdict(list)
        for place, numbers in enumerate(self._outputs):
            for number in numbers:
                uses[number].append(place)
        result: dict[str, Hashable] = {}
        for statement in reversed(self._statements):
            names = self._weighted(statement)
            behind = [code for number in statement.targets for code in uses[number]]
            codes = sorted(behind) if detailed else sorted(set(behind))
            code = codes[0] if len(codes) == 1 and not detailed else hash(tuple(codes))
            result.update((name, code) for name in names)
            slots = references(statement.text)
            commutes = not detailed or COMMUTES.fullmatch(statement.text)
            for slot, number in enumerate(slots):
                label = self._label(statement, names, detailed=detailed)
                is_plain = not (detailed or names)
                uses[number].append(code if is_plain else hash((label, 0 if commutes else slot, code)))
        return result


def _flat(statements: Iterable[Statement]) -> Iterator[Statement]:
    for statement in statements:
        yield statement
        for _, block in statement.blocks:
            yield from _flat(block)


def match_graphs(source: LayerSequence, other: LayerSequence) -> LayerMatch:
    """Match layers that are made alike and stand at the same place of both graphs. Layers at one place by the weights
    around them are told apart by everything else that is computed."""
    match = LayerMatch({}, [], [], [])
    kinds = [_groups(network.layers, {}) for network in (source, other)]
    for key in dict.fromkeys([*kinds[0], *kinds[1]]):
        left, right = (groups.get(key, []) for groups in kinds)
        if len(left) != len(right):
            match.left += left
            match.missing += right
    if not match.is_complete:
        return match
    rough, fine = ([network.places(detailed=detailed) for network in (source, other)] for detailed in (False, True))
    places = [_groups(network.layers, at) for network, at in zip((source, other), rough, strict=True)]
    for key in dict.fromkeys([*places[0], *places[1]]):
        left, right = (groups.get(key, []) for groups in places)
        sides = zip(fine, (left, right), strict=True)
        codes = [Counter(at[layer.key] for layer in layers) for at, layers in sides]
        if len(left) != len(right):
            match.left += left
            match.missing += right
        elif len(left) == 1:
            match.pairs[left[0].key] = right[0]
        elif codes[0] == codes[1] and max(codes[0].values()) == 1:
            partners = {fine[1][layer.key]: layer for layer in right}
            match.pairs.update({layer.key: partners[fine[0][layer.key]] for layer in left})
        else:
            match.ambiguous.append(right)
    return match


def _groups(layers: Iterable[KeyedLayer], places: Mapping[str, Hashable]) -> dict[Hashable, list[KeyedLayer]]:
    groups: dict[Hashable, list[KeyedLayer]] = defaultdict(list)
    for layer in layers:
        groups[layer.shapes, layer.constructor, places.get(layer.key)].append(layer)
    return groups


def match_by_order(source: LayerSequence, others: Sequence[KeyedLayer]) -> LayerMatch:
    """Match layers of the same kind and shapes in their order: those of a state_dict are ordered where the numbers in
    their names say so. A normalization goes with the layer before it, where names tell which that is."""
    match = LayerMatch({}, [], [], [])
    groups: tuple[dict[Shapes, list[KeyedLayer]], ...] = defaultdict(list), defaultdict(list)
    for group, layers in zip(groups, (source.layers, others), strict=True):
        for layer in layers:
            group[layer.shapes].append(layer)
    following = source.following()
    norms_last = sorted({**groups[0], **groups[1]}, key=lambda shapes: NORM_STATE in dict(shapes))
    for shapes in norms_last:
        left, right = groups[0][shapes], sorted(groups[1][shapes], key=_number_key)
        if len(left) != len(right):
            match.left += left
            match.missing += right
            continue
        if NORM_STATE in dict(shapes):
            for key, partner in [*match.pairs.items()]:
                pair = [layer for layer in following[key] if layer in left], _norms_beside(partner, right)
                if len(pair[0]) == len(pair[1]) == 1:
                    match.pairs[pair[0][0].key] = pair[1][0]
                    left, right = ([item for item in side if item not in done] for side, done in
                                   zip((left, right), pair, strict=True))  # fmt: skip
        if all(_is_ordered(first, second) for first, second in pairwise(right)):
            match.pairs.update({layer.key: partner for layer, partner in zip(left, right, strict=True)})
        else:
            match.ambiguous.append(right)
    return match


def _norms_beside(layer: KeyedLayer, among: Sequence[KeyedLayer]) -> list[KeyedLayer]:
    """Return the normalizations in the scope of a layer whose number is the same (conv1, bn1), or in a sequence the
    next."""
    scope, _, name = layer.key.rpartition(".")
    numbers = NUMBERS.findall(name)
    wanted = [str(int(name) + 1)] if name.isdecimal() else numbers
    return [
        norm for norm in among
        if norm.key.rpartition(".")[0] == scope and NUMBERS.findall(norm.key.rpartition(".")[2]) == wanted
        and norm.key.rpartition(".")[2].isdecimal() == name.isdecimal()
    ]  # fmt: skip


def _number_key(layer: KeyedLayer) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in NUMBERS.split(layer.key)]


def _is_ordered(first: KeyedLayer, second: KeyedLayer) -> bool:
    """Return whether two names differ by a number first."""
    pairs = zip(_number_key(first), _number_key(second), strict=False)
    parts = next((pair for pair in pairs if pair[0] != pair[1]), ((-1, ""),))
    return min(number for number, _ in parts) >= 0
