"""How far rounding alone moves a model's results, measured on the model itself."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

import numpy as np

from graphir.arrays import Array
from graphir.graph import Graph
from graphir.inputs.draws import is_measured, perturbed

from .candidate import OnnxCandidate

Feeds = Mapping[str, Array]
# Two moved runs may move a number alike by chance; each more costs a run of the model.
PERTURBATIONS = 3
# Inputs are moved by up to half of this to see whether a value reacts at all: far above any rounding, 8 bits included.
STIRRED = 2.0**-4
# Weights that are moved where inputs are integers: their copies are held beside the model.
WEIGHTS_MOVED, WEIGHTS_CONSIDERED = 4, 32
# Elements of a weight that is moved: 16 MB of float32.
LARGEST_MOVED = 1 << 22
NARROW = ("float16", "bfloat16")


@dataclass
class RoundedRuns:
    """Runs of a candidate that differ from its first, on the `base` feeds, by rounding alone.

    They are runs on feeds whose real numbers are moved by up to a unit in the last place (the first weights too, where
    not all feeds are real), and one with onnxruntime's optimisations the other way. `coarse` is the step of a coarser
    type that the reference computes in: what comes through it is moved by up to half of that. The same seed gives the
    same runs, whichever values are asked for. `extra` are values that will be asked for too: a run that is made anyway
    gives them as well.
    """

    candidate: OnnxCandidate
    graph: Graph
    base: Feeds
    seed: int
    coarse: float = 0.0
    extra: Sequence[str] = ()
    _moved: dict[float, list[Feeds]] = field(default_factory=dict, init=False)

    def feeds(self, *, coarse: bool = False) -> list[Feeds]:
        """Return the feeds that rounding moved; none where there is no real number in them."""
        step = self.coarse if coarse else 0.0
        if step not in self._moved:
            turns = range(self.seed, self.seed + PERTURBATIONS)
            moved = (perturbed(self.graph, self.base, turn, step) for turn in turns)
            self._moved[step] = [feeds for feeds in moved if feeds is not None]
        return self._moved[step]

    def runs(self, names: Sequence[str], *, coarse: bool = False) -> Iterator[dict[str, Array]]:
        """Yield the named values of each run, a run at a time. The cheapest come first: the last ones need a session of
        their own.

        Where a feed is no real number, the weights that meet the feeds first are moved too, in the session of the run
        without optimisations, so that there is none for them alone.
        """
        moved = self.feeds(coarse=coarse)
        if self._moved_weights:
            base, weights = self._unperturbed_run(names)
            yield base
            for turn in range(PERTURBATIONS):
                other = perturbed(self.graph, weights, self.seed + turn, self.coarse if coarse else 0.0)
                rerun = self._run_with_weights(moved[turn] if moved else self.base, names, other)
                yield {name: rerun[name] for name in names}
        for feeds in moved:
            yield self.candidate.run_cached(feeds, names)
        if not self._moved_weights:
            yield self.candidate.twin.run_cached(self.base, names)

    def further(self, names: Sequence[str], count: int) -> Iterator[dict[str, Array]]:
        """Yield the named values of runs beside those of `runs`, each on feeds that are moved in another way; none
        where no feed can be moved, or a coarser type rounds."""
        first = self.seed + PERTURBATIONS + 1
        for turn in range(first, first + count if not self.coarse else first):
            moved = perturbed(self.graph, self.base, turn, 0.0)
            if moved is not None:
                yield self.candidate.run(moved, names)

    @property
    def moves(self) -> bool:
        """Whether there is anything real in the feeds, which can be moved."""
        return bool(self.feeds())

    @property
    def moves_weights(self) -> bool:
        """Whether feeds are no real numbers, so that weights are moved beside what can be moved of the feeds."""
        return bool(self._moved_weights) and self._has_integer_feeds

    @cached_property
    def _moved_weights(self) -> list[str]:
        """The weights that are moved where feeds are no real numbers, or nothing of the feeds can be: some that meet
        the inputs first, the smaller ones of them, enough to move all that follows."""
        if self.feeds() and not self._has_integer_feeds:
            return []
        structure = self.candidate.structure
        first = list(islice(structure.first_weights(), WEIGHTS_CONSIDERED))
        small = [name for name in first if math.prod(structure.weights[name][1]) <= LARGEST_MOVED]
        return small[:WEIGHTS_MOVED] or first[:1]

    @cached_property
    def _has_integer_feeds(self) -> bool:
        """Whether some feeds stay what they are, since they are no real numbers."""
        return not all(is_measured(self.graph, name, array) for name, array in self.base.items())

    def _run_with_weights(self, feeds: Feeds, names: Sequence[str], weights: Feeds | None = None) -> dict[str, Array]:
        """Values from the session in which weights can be moved, and these weights. Where only outputs are asked for it
        is one without optimisations, and gives what will be asked for as well."""
        twin = self.candidate.twin
        twin.open_weights(self._moved_weights)
        extra = self.extra if self._are_outputs(names) else ()
        wanted = list(dict.fromkeys([*names, *extra, *self._moved_weights]))
        return twin.run_cached(feeds, wanted, extra) if weights is None else twin.run(feeds, wanted, weights, extra)

    def _unperturbed_run(self, names: Sequence[str]) -> tuple[dict[str, Array], dict[str, Array]]:
        """Return the values in the session in which weights can be moved, before they are, and these weights."""
        values = self._run_with_weights(self.base, names)
        return {name: values[name] for name in names}, {name: values[name] for name in self._moved_weights}

    def _are_outputs(self, names: Sequence[str]) -> bool:
        return set(names) <= {*self.candidate.structure.outputs, *self.candidate.session.aside}

    def plain(self, names: Sequence[str]) -> dict[str, Array]:
        """Return the candidate's own values, those inside computed without optimisations: from a run that is made
        anyway where there is one."""
        if self.moves_weights and not self._are_outputs(names) and set(names) <= set(self.extra):
            values = self._run_with_weights(self.base, [])
            return {name: values[name] for name in names}
        return self.candidate.run_cached(self.base, names)

    def run_with_large_change(self, names: Sequence[str]) -> tuple[dict[str, Array], dict[str, Array]]:
        """Return the values as they are, and where each real input is moved by some percent, which is no rounding: what
        does not change then does not react. Only where a feed can be moved.

        Where a feed is no real number, the weights that meet the feeds first are moved too, those that it looks up; in
        another session, which gives both.
        """
        turn = self.seed + PERTURBATIONS
        moved = perturbed(self.graph, self.base, turn, STIRRED)
        assert moved is not None
        if not self.moves_weights:
            return self.plain(names), self.candidate.run(moved, names)
        base, weights = self._unperturbed_run(names)
        return base, self._run_with_weights(moved, names, perturbed(self.graph, weights, turn, STIRRED))


def infinite_values(candidate: OnnxCandidate, feeds: Mapping[str, Array]) -> Iterator[str]:
    """Yield the inner values of a narrow type in which there is an infinity or NaN; a few values at a time are held."""
    for names in candidate.slices(candidate.structure.producers, feeds, candidate.memory // 2):
        for name, array in candidate.run(feeds, names).items():
            is_narrow = isinstance(array, np.ndarray) and array.dtype.name in NARROW
            if is_narrow and not np.isfinite(array.astype(np.float32)).all():
                yield name
