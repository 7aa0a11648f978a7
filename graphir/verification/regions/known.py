"""The values that both models of a comparison can be asked for, and what is kept of the reference's."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from graphir.arrays import Array
from graphir.graph import Graph, Value
from graphir.types import TensorType
from graphir.verification.pairs.sides import by_name
from graphir.verification.running.references import RuntimeReference
from graphir.verification.running.slices import HELD_OF_EACH

from .parts import CutCandidate

if TYPE_CHECKING:
    from graphir.verification.pairs.sides import Sides
    from graphir.verification.running.bench import Bench


class KnownValues:
    """The pairs of values of two graphs that both models can be asked for.

    `names` are the names by which the reference is asked for the first graph's values, those of outputs where a value
    has several, `values` the values by all of them, `pairs` the second graph's values by the first one's. Those that
    are `large` exceed a slice of the memory budget. Of what one evaluation of the reference gives, the others stay with
    the bench, as far as there is room.
    """

    def __init__(self, bench: Bench, graphs: tuple[Graph, Graph]) -> None:
        self._bench = bench
        left, right = (by_name(graph) for graph in graphs)
        known = set(bench.reference.values())
        self.names: dict[Value, str] = {}
        self.pairs: dict[Value, Value] = {}
        self.values: dict[str, Value] = {}
        for source, name in bench.layers.items():
            value, other = left.get(source), right.get(name)
            if value is None or other is None or source not in known:
                continue
            if self.pairs.setdefault(value, other) is not other:
                continue
            self.values[source] = value
            if value not in self.names or source in bench.reference.outputs:
                self.names[value] = source
        large = bench.candidate.larger(bench.feeds, bench.candidate.memory // (2 * HELD_OF_EACH))
        self.large = {source for source in self.names.values() if bench.layers[source] in large}
        self._cut: CutCandidate | None = None
        if isinstance(bench.reference, RuntimeReference) and not bench.reference.structure.random:
            self._cut = CutCandidate(bench.reference.onnx, graphs[0], bench.feeds)

    def expected(self, values: Iterable[Value]) -> dict[Value, Array]:
        """Return what the reference has for values that are known."""
        wanted = {self.names[value]: value for value in values}
        return {wanted[name]: array for name, array in self.named(wanted).items()}

    def named(self, names: Collection[str]) -> dict[str, Array]:
        """Return what the reference has for these names of its own: what does not stay from one evaluation, which gives
        as much as may stay, is computed from the nearest values that do."""
        kept, bench = self._bench.kept, self._bench
        arrays = {name: kept[name] for name in names if name in kept}
        missing = [name for name in dict.fromkeys(names) if name not in arrays]
        if not missing:
            return arrays
        if kept and self._cut is not None:
            fed = {name: array for name, array in kept.items() if self._is_border(name)}
            return arrays | self._cut.run(fed, missing)
        wanted = missing
        if bench.room > 0:  # what is needed next, as much of it as there is room for
            known = {*kept, *missing, *self.large}
            others = [name for name in self.names.values() if name not in known]
            slices = bench.reference.slices([*missing, *others], bench.feeds, bench.room)
            wanted = list(dict.fromkeys([*missing, *(others if slices is None else slices[0])]))
        for name, array in bench.stream(wanted):
            if name in missing:
                arrays[name] = array
            if array.nbytes <= bench.room and name not in self.large:
                kept[name] = array
        return arrays

    def _is_border(self, name: str) -> bool:
        """Return whether parts of the reference can begin at a value: a tensor of numbers."""
        value = self.values.get(name)
        return value is not None and isinstance(value.type, TensorType) and self._bench.kept[name].dtype.kind in "fiubV"

    def tensors(self) -> dict[Value, str]:
        """Return the candidate's names of the tensors that it computes, but for those that are large and no outputs."""
        made, ends = self._bench.candidate.structure.producers, self._bench.candidate.structure.outputs
        return {
            value: name for value, source in self.names.items()
            if (name := self._bench.layers[source]) in made and (source not in self.large or name in ends)
            and all(isinstance(end.type, TensorType) for end in (value, self.pairs[value]))
        }  # fmt: skip

    def sizes(self) -> dict[str, int]:
        """Return the bytes of what is kept, by the candidate's names."""
        layers = self._bench.layers
        return {layers[name]: array.nbytes for name, array in self._bench.kept.items() if name in layers}


def fed_inputs(bench: Bench, sides: Sides) -> dict[Value, Value]:
    """Return the inputs of the second graph by those of the first: what the user stated as they are fed, else pairs."""
    paired = {value: other for value, other in sides.counterparts.values.items() if value.producer is None}
    ours, theirs = ({value.name: value for value in graph.inputs} for graph in sides.both)
    fed = {
        ours[source]: theirs[name]
        for name, (source, _) in bench.candidate.fitting.items()
        if source in ours and name in theirs
    }
    taken = set(fed.values())
    return {value: other for value, other in paired.items() if other not in taken} | fed


def known_values(bench: Bench, sides: Sides) -> KnownValues:
    """Return the pairs of values that both models can be asked for, and what is kept of them on these feeds."""
    if "known" not in bench.judged:
        bench.judged["known"] = KnownValues(bench, sides.both)
    known: KnownValues = bench.judged["known"]
    return known
