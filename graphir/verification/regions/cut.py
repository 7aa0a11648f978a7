"""The candidate cut at every value that both models know, run on the reference's numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from graphir.graph import Graph
from graphir.verification.inputs.seeded import perturbed
from graphir.verification.running.layouts import fitted_feeds

if TYPE_CHECKING:
    from graphir.runtime.session import OnnxSession
    from graphir.verification.running.candidate import OnnxCandidate

Array = NDArray[Any]
Results = dict[str, Array]


class CutCandidate:
    """Runs parts of a model between values that are fed and values that are wanted, without optimisations."""

    def __init__(self, candidate: OnnxCandidate, graph: Graph, feeds: Mapping[str, Array]) -> None:
        self._candidate, self._graph, self._feeds = candidate, graph, feeds
        self._last: tuple[bytes, OnnxSession] | None = None

    @cached_property
    def _model(self) -> Any:
        from graphir.converters.onnx.files.cut import CutModel

        return CutModel(self._candidate.message)

    def reads(self, wanted: Iterable[str], fed: Collection[str]) -> dict[str, set[str]]:
        """Return, of each wanted value, which of the fed ones its part reads."""
        found: dict[str, set[str]] = self._model.reads(wanted, fed)
        return found

    def edges(self, wanted: Iterable[str], fed: Collection[str]) -> set[str]:
        """Return which of the fed values the wanted ones read together."""
        found: set[str] = self._model.edges(wanted, fed)
        return found

    def release(self) -> None:
        """Let the last session go."""
        self._last = None

    def run(
        self, fed: Mapping[str, Array], wanted: Collection[str], feeds: Mapping[str, Array] | None = None
    ) -> Results:
        """Return the wanted values, for other `feeds` of the model's inputs if these are given. Raises GraphirError
        where a part does not run."""
        session, inputs = self._part(fed, wanted, feeds)
        return session.run(inputs)

    def run_moved(
        self,
        fed: Mapping[str, Array],
        wanted: Collection[str],
        step: float = 0.0,
        feeds: Mapping[str, Array] | None = None,
    ) -> Results:
        """Return the wanted values for numbers that rounding moved, by a unit in the last place or half the `step` of a
        coarser type; none where nothing can be moved."""
        session, inputs = self._part(fed, wanted, feeds)
        moved = perturbed(self._graph, inputs, step=step)
        return {} if moved is None else session.run(moved)

    def _part(
        self, fed: Mapping[str, Array], wanted: Collection[str], feeds: Mapping[str, Array] | None
    ) -> tuple[OnnxSession, Results]:
        message, names = self._model.part(fed, wanted)
        if self._last is None or self._last[0] != message:
            self._last = message, self._candidate.started_part(message)
        session = self._last[1]
        given = fitted_feeds(self._candidate.fitting, self._feeds if feeds is None else feeds)
        inputs = {name: given[name] for name in session.inputs if name in given}
        return session, inputs | {name: fed[value] for value, name in names.items()}


__all__ = ["CutCandidate"]
