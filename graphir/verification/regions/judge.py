"""Every part of the candidate between values that both models know, judged on the reference's own numbers.

A part that gives something else than the reference for the reference's numbers is where two models part, wherever it
stands and whatever comes before it. Where it is only written otherwise, as a convolution that has a normalization in
its weights, what reads it makes up for that: fed with the candidate's own numbers, and with them alone, that agrees.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from graphir.analysis.channels import Order, known_order
from graphir.arrays import Array
from graphir.errors import GraphirError
from graphir.graph import Value
from graphir.ops.activation import LogSoftmax, Softmax
from graphir.ops.traits import DecisionTrait
from graphir.safety.memory import return_memory_of
from graphir.structure.reaching import reachable
from graphir.verification.numbers.compare import NOISE_LEAST, Comparison, relative_change, same
from graphir.verification.pairs.sides import Sides
from graphir.verification.running.bench import Bench
from graphir.verification.running.layouts import fitted_feeds, order_inside
from graphir.verification.running.references import RuntimeReference
from graphir.verification.running.slices import HELD_OF_EACH
from graphir.verification.verdict import Verdict

from .known import KnownValues, fed_inputs, known_values
from .parts import (
    TIES,
    CutCandidate,
    NotRun,
    Part,
    Segment,
    Walks,
    as_in_graph,
    chooses,
    is_size,
    name_equals,
    ordering_node,
    typed,
    without_overflows,
)


@dataclass
class Judgement:
    """What the parts of a candidate show, by the reference's values at their ends.

    `alone` are the comparisons of each part on the reference's numbers, `causes` the parts that differ, `rewritten`
    those that are written otherwise with the values at which both models agree again, `hidden` those that differ while
    outputs are the same with their own numbers and with the reference's: other inputs may show them. What agrees only
    because a part chooses others is a cause. Where all that differs was paired by what reads it, that says only
    that another value is the pair.
    """

    alone: dict[Value, Comparison]
    causes: list[Value] = field(default_factory=list)
    rewritten: dict[Value, list[Value]] = field(default_factory=dict)
    hidden: list[Value] = field(default_factory=list)


# What follows a part that differs is run for each; a model in which more parts differ is another one throughout.
MOST_SETTLED = 64
# The square of a larger number overflows in float32: what is made of such numbers may be infinite by their order alone.
HUGE = 2.0**64
INEXACT = "it only moves, selects or compares numbers, which rounds nothing"


class Regions:
    """A candidate that is cut at all values that both models know, and what its parts give."""

    def __init__(self, bench: Bench, sides: Sides, known: KnownValues) -> None:
        self._bench, self.known = bench, known
        self._inferred = sides.inferred
        self.cut = CutCandidate(bench.candidate, sides.both[1], bench.feeds)
        self.walks = Walks(sides.both[0]), Walks(sides.both[1])
        self._is_one_runtime = isinstance(bench.reference, RuntimeReference)
        self._ends = set(bench.candidate.structure.outputs)
        self._name = known.tensors()
        orders = {value: known_order(value.shape, known.pairs[value].shape) for value in self._name
                  if self._is_one_runtime and value.dtype is known.pairs[value].dtype is not None}  # fmt: skip
        self._orders = {value: order for value, order in orders.items() if order is not None}
        self._inputs = fed_inputs(bench, sides)
        # Only the reference's numbers and the candidate's are held here.
        for part in self.parts([value for value in self._name if value not in self._orders], held=2):
            self._orders |= {value: order for value, order, _ in self._by_numbers(part)}
        # What cannot hold the same numbers is no pair, whatever its names say: what stands around it is one part.
        # Sizes are no ends either: the candidate's own are read by what follows, which shows whether they are right.
        self._name = {
            value: name for value, name in self._name.items()
            if name in self._ends or (value in self._orders and not is_size(known.pairs[value]))
        }  # fmt: skip
        self._find_readers()
        self._merged: set[Value] = set()
        self._turned = {value for value, order in self._orders.items() if order}

    def has(self, value: Value | None, name: str) -> bool:
        """Return whether a part of the candidate ends with this value, which the candidate calls so, its axes in this
        order: names of outputs may be exchanged, and an output has one layout."""
        return value is not None and self._name.get(value) == name and value not in self._turned

    @property
    def ends(self) -> list[Value]:
        """Return the values at which parts end, in the reference's order."""
        return [value for value in self._name if value not in self._merged]

    def segment(self, value: Value, refused: Collection[Value] = ()) -> Segment | None:
        """Return the parts of both models that end with a value, None where one reads what the other does not know.

        None begins at a value that is `refused`.
        """
        others = {other: held for other, held in self._others.items() if held not in self._merged.union(refused)}
        ours, left = self.walks[0].region(value, set(others.values()).__contains__)
        theirs, right = self.walks[1].region(self.known.pairs[value], others.__contains__)
        others |= {other: held for held, other in self._inputs.items()}
        pairs = {held: other for other, held in others.items()}
        if not all(held in pairs for held in ours) or not all(held in others for held in theirs):
            return None
        edges = {held: pairs[held] for held in (*ours, *(others[held] for held in theirs))}
        return Segment(value, self.known.pairs[value], (left, right), edges, (ours, theirs))

    def arrays(self, edges: Iterable[Value]) -> dict[Value, Array]:
        """Return the reference's numbers for values that parts begin with, inputs among them."""
        asked = list(edges)
        fed = {edge: self._bench.feeds[edge.name] for edge in asked if edge.producer is None}
        return fed | self.known.expected(edge for edge in asked if edge.producer is not None)

    def fed(self, segment: Segment) -> tuple[dict[str, Array], dict[str, Array]]:
        """Return the reference's numbers that the parts of both models begin with, by the names that each has."""
        bench = self._bench
        arrays = self.known.expected(edge for edge in segment.edges if edge.producer is not None)
        ours = {edge.name: as_in_graph(array, edge) for edge, array in arrays.items()}
        theirs = {segment.edges[edge].name: self.laid(edge, array) for edge, array in arrays.items()}
        return {**bench.feeds, **ours}, {**fitted_feeds(bench.candidate.fitting, bench.feeds), **theirs}

    def laid(self, value: Value, array: Array) -> Array:
        """Return the reference's number for a value as the candidate has it."""
        return typed(array.transpose(self._orders.get(value) or range(array.ndim)), self.known.pairs[value])

    def name(self, value: Value) -> str:
        """Return what the candidate calls a value that ends a part."""
        return self._name[value]

    def judged(self) -> Judgement:
        """Judge every part. Raises GraphirError where a part does not run."""
        alone = self._compared(())
        found = Judgement(alone)
        differing = [value for value, one in alone.items() if not one.verdict.passes]
        settled: set[Value] = set()
        readers = {reader for value in differing for reader in self._readers[value]}
        together = self._compared(differing, readers) if readers else {}
        for value in differing:
            again = self._readers[value]
            if again and all(_passes(together, one) for one in again) and _shows(again, alone):
                found.rewritten[value] = self._ordered(again)
                settled |= {value, *again}
        open_ones = [value for value in differing if value not in settled]
        for value in open_ones[:MOST_SETTLED]:
            if value not in settled:
                settled |= self._settle(value, found)
        found.causes += [value for value in open_ones[MOST_SETTLED:] if value not in settled]
        self._merged = set(found.rewritten)
        self.cut.release()
        return found

    def _settle(self, value: Value, found: Judgement) -> set[Value]:
        """Say what a part is that differs: run on with its own numbers, does all that follows agree again, and would it
        with the reference's? Returns the values that are settled with it."""
        behind = set(reachable([value], self._readers.__getitem__))
        rewritten = set(found.rewritten)
        own = self._compared(behind | rewritten, behind - {value}) if len(behind) > 1 else {}
        apart = {one for one in behind if one is value or not _passes(own, one)}
        seen = set(reachable([value], lambda one: self._readers[one] if one in apart else ()))
        apart, again = seen & apart, seen - apart
        if any(not self._readers[one] or self._name[one] in self._ends for one in apart):
            found.causes.append(value)
            return set()
        if not _shows(again, found.alone):
            # Where certain values differ too on the way, the pair is no guess.
            is_guess = apart.issubset(self._inferred)
            if is_guess or self._is_shift(value):
                found.rewritten[value] = self._ordered(self._readers[value])
            elif self._choose(again) or self._changes_ends(value, behind, rewritten):
                found.causes.append(value)
            else:
                found.hidden.append(value)
            return set()
        for one in apart:
            found.rewritten[one] = self._ordered(again)
        return again

    def _changes_ends(self, value: Value, behind: set[Value], rewritten: set[Value]) -> bool:
        """Return whether outputs are others for the candidate's own number than for the reference's. The same kernels
        compute both, so that no other order of a sum explains it."""
        ends = [held for held in behind if self._name[held] in self._ends]
        own, results = {self._name[held] for held in behind | rewritten}, []
        for unfed in (own, own - {self._name[value]}):
            _, fed = self._fed(ends, unfed)
            results.append(self.cut.run(fed, self._names(ends)))
        return not all(same(array, results[1][name]) for name, array in results[0].items())

    def _choose(self, values: Iterable[Value]) -> bool:
        """Return whether parts keep some elements by what they compute, so that they keep others on other inputs."""
        return any(chooses(node, DecisionTrait.CUTS) for value in values for node in self._part(value).nodes[1])

    def _is_shift(self, value: Value) -> bool:
        """Return whether a value that softmaxes alone read differs by what is added to all numbers that these see."""
        axes = {
            node.op.axis if isinstance(node.op, Softmax | LogSoftmax) else None
            for node in self.walks[1].readers(self.known.pairs[value])
        }
        axis = axes.pop() if len(axes) == 1 else None
        if axis is None:
            return False
        arrays, fed = self._fed([value], ())
        found = self.cut.run(fed, self._names([value]))
        expected = self.laid(value, arrays[value]).astype(np.float64)
        apart = found[self._name[value]] - expected
        return float(np.ptp(apart, axis).max(initial=0.0)) <= NOISE_LEAST * float(np.abs(expected).max(initial=0.0))

    def _compared(self, unfed: Collection[Value], wanted: Collection[Value] | None = None) -> dict[Value, Comparison]:
        """Compare the results of parts that are fed with the reference's numbers, but for some values."""
        names = {self._name[value] for value in unfed}
        asked = [value for value in self._name if wanted is None or value in wanted]
        found: dict[Value, Comparison] = {}
        for part in self.parts(asked):
            found |= self._run(part, names)
        return found

    def parts(self, values: Collection[Value], held: int = 2 * HELD_OF_EACH) -> Iterable[list[Value]]:
        """Yield the values in parts that the memory budget has room for, if so many arrays of each are held."""
        by_name: dict[str, list[Value]] = {}
        for value in values:
            by_name.setdefault(self._name[value], []).append(value)
        most = self._bench.candidate.memory // held
        for names in self._bench.candidate.slices(by_name, self._bench.feeds, most, self.known.sizes()):
            yield [value for name in names for value in by_name[name]]

    def _by_numbers(self, values: Collection[Value]) -> Iterable[tuple[Value, Order, float]]:
        """Yield in which order of axes the candidate has the reference's values, by its own numbers, and by how much
        these differ; nothing of what cannot hold the same numbers."""
        expected, results = self.known.expected(values), self.cut.run({}, self._names(values))
        for value in values:
            own = results[self._name[value]]
            order = order_inside(expected[value], own)
            laid = expected[value].transpose(order or range(expected[value].ndim))
            types = {laid.dtype, own.dtype}  # truth values, and 8 bits with another zero point, are other numbers
            if laid.shape == own.shape and (len(types) == 1 or 1 not in {dtype.itemsize for dtype in types}):
                yield value, order, relative_change(laid, own)
        return_memory_of([*expected.values(), *results.values()])

    @cached_property
    def apart(self) -> set[Value]:
        """The values that differ where the whole candidate runs on its own numbers."""
        limits, parts = self._bench.limits, self.parts([value for value in self._name if value in self._orders])
        compared = ((self.known.names[value], value, change) for part in parts
                    for value, _, change in self._by_numbers(part))  # fmt: skip
        return {value for name, value, change in compared if change > limits.rounding(limits.step_of(name))}

    def _fed(self, values: Collection[Value], unfed: Collection[str]) -> tuple[dict[Value, Array], dict[str, Array]]:
        """Return the reference's numbers for values, and for what their parts read, by the candidate's names."""
        sources = {name: value for name, value in self._borders.items() if name not in unfed}
        edges = self.cut.model.edges(self._names(values), sources)
        # In the order of the graph, in which numbers are moved by rounding too: floors are the same in every process.
        read = {name: value for name, value in reversed(sources.items()) if name in edges}
        arrays = self.known.expected(dict.fromkeys([*values, *read.values()]))
        return arrays, {name: self.laid(value, arrays[value]) for name, value in read.items()}

    def _run(self, values: Collection[Value], unfed: Collection[str]) -> dict[Value, Comparison]:
        """Compare what the parts of values give; a floor is measured for those that do not pass without one."""
        arrays, fed = self._fed(values, unfed)
        found = self.cut.run(fed, self._names(values))
        floats = {name: array for name, array in fed.items() if array.dtype.kind == "f" and array.size}
        beyond = [name for name, array in floats.items() if not -HUGE <= array.min() <= array.max() <= HUGE]
        huge = {name for name in beyond if (np.isfinite(floats[name]) & (np.abs(floats[name]) > HUGE)).any()}
        reads = self.cut.model.reads(self._names(values), fed) if huge else {}
        for value in values if huge else ():
            name = self._name[value]
            if not huge.isdisjoint(reads[name]):
                found[name] = without_overflows(self.laid(value, arrays[value]), found[name])
        compared = {value: self._graded(value, arrays, found, {}) for value in values}
        open_ones = [value for value, one in compared.items() if not one.verdict.passes]
        if open_ones and not self._bench.limits.stated:
            moved = self.cut.run_moved(fed, self._names(open_ones), self._bench.limits.coarsest)
            compared |= {value: self._graded(value, arrays, found, moved) for value in open_ones if moved}
        self._turned |= {value for value in values if order_inside(found[self._name[value]], arrays[value])}
        for value, one in compared.items():
            if one.verdict is Verdict.NOISE and not unfed and self._only_selects(value):
                compared[value] = replace(one, verdict=Verdict.BROKEN, note=INEXACT)
            elif not one.verdict.passes and self._orders_equals(value, arrays[value], found[self._name[value]], fed):
                compared[value] = replace(one, verdict=Verdict.NOISE, note=TIES)
        return_memory_of([*arrays.values(), *found.values()])
        return compared

    def _orders_equals(self, value: Value, expected: Array, found: Array, fed: Mapping[str, Array]) -> bool:
        """Return whether a value holds indices of ordered numbers, and both models name equal numbers with them."""
        node = ordering_node(self.known.pairs[value])
        if node is None or node.inputs[0] is None:
            return False
        name, given = node.inputs[0].name, {**fitted_feeds(self._bench.candidate.fitting, self._bench.feeds), **fed}
        keys = given[name] if name in given else self.cut.run(fed, [name])[name]
        return name_equals(keys, getattr(node.op, "axis", -1), self.laid(value, expected), found)

    def _graded(
        self, value: Value, arrays: Mapping[Value, Array], found: Mapping[str, Array], moved: Mapping[str, Array]
    ) -> Comparison:
        name, results = self._name[value], (arrays[value], found[self._name[value]])
        return self._part(value).compared(
            self.known.names[value], results, self._bench.limits, moved.get(name), by_kernels=self._is_one_runtime
        )

    def _names(self, values: Iterable[Value]) -> list[str]:
        return list(dict.fromkeys(self._name[value] for value in values))

    def _only_selects(self, value: Value) -> bool:
        """Return whether no node of either part rounds; where limits are coarse or stated, that is no question, nor
        where the two are of different types: what is written in one of them is rounded in the other."""
        limits, types = self._bench.limits, {value.dtype, self.known.pairs[value].dtype}
        if limits.stated or limits.quantized or limits.coarsest or limits.elsewhere or len(types - {None}) > 1:
            return False
        return self._part(value).is_exact

    def _part(self, value: Value) -> Part:
        """Return the nodes of both models between a value and the borders before it."""
        edges = set(self._borders.values())
        _, ours = self.walks[0].region(value, edges.__contains__)
        _, theirs = self.walks[1].region(self.known.pairs[value], self._others.__contains__)
        return Part(value, self.known.pairs[value], (ours, theirs))

    def _find_readers(self) -> None:
        # Parts begin at tensors of numbers that are computed: sizes stay what the candidate makes of its inputs.
        self._borders = {
            name: value for value, name in reversed(self._name.items())
            if value in self._orders and not is_size(other := self.known.pairs[value])
            and (other.dtype is None or other.dtype.numpy().kind in "fiubV")
        }  # fmt: skip
        self._others = {self.known.pairs[value]: value for value in self._borders.values()}
        reads = self.cut.model.reads(set(self._name.values()), self._borders)
        self._readers: dict[Value, set[Value]] = {value: set() for value in self._name}
        by_name: dict[str, set[Value]] = {}
        for value, name in self._name.items():
            by_name.setdefault(name, set()).add(value)
        for name, read in reads.items():
            for source in read:
                for value in by_name[source]:
                    self._readers[value] |= by_name[name]

    def _ordered(self, values: Collection[Value]) -> list[Value]:
        return [value for value in self._name if value in values]


def judge(bench: Bench, sides: Sides) -> tuple[Regions, Judgement] | NotRun:
    """Return the parts of a candidate, and what they show; asked once of each set of inputs."""
    if "parts" not in bench.judged:
        try:
            regions = Regions(bench, sides, known_values(bench, sides))
            bench.judged["parts"] = regions, regions.judged()
        except GraphirError as error:
            bench.judged["parts"] = NotRun.after(error)
    result: tuple[Regions, Judgement] | NotRun = bench.judged["parts"]
    return result


def _passes(compared: Mapping[Value, Comparison], value: Value) -> bool:
    return value not in compared or compared[value].verdict.passes


def _shows(readers: Collection[Value], alone: Mapping[Value, Comparison]) -> bool:
    """Return whether something that agrees on the candidate's own numbers does not on the reference's."""
    return any(not _passes(alone, reader) for reader in readers)
