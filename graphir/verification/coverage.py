"""What the inputs of a comparison reached in a model, and what they never did: bounds, rows, branches, boxes.

Agreement says nothing of what was not computed. A session of the model with a few numbers for each operator that
concerns runs once more on every set, none of the values themselves leaves it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from graphir.errors import GraphirError, VerificationError

from .candidate import OnnxCandidate
from .layouts import fitted_feeds

if TYPE_CHECKING:
    from graphir.converters.onnx.probes import Probes

Array = NDArray[Any]


def coverage(candidate: OnnxCandidate, feeds: Sequence[Callable[[], Mapping[str, Array]]]) -> list[str]:
    """Lines that say what the sets of feeds, which the candidate takes, reached in it; none for a model in which there
    is nothing of that kind. Where it cannot be measured the line says why."""
    from graphir.converters.onnx.files.structure import graph_message
    from graphir.converters.onnx.probes import Probes, never_reached

    graph = graph_message(candidate.path)
    probes = Probes(graph)
    if not probes.sights:
        return []
    try:
        reached = _reached(candidate, probes, feeds)
    except VerificationError:
        probes = Probes(graph, guarded=True)
        try:
            reached = _reached(candidate, probes, feeds)
        except GraphirError as error:
            return [f"not measured: {str(error).splitlines()[0][:200]}"]
    return never_reached(probes.sights, reached)


def _reached(
    candidate: OnnxCandidate, probes: Probes, feeds: Sequence[Callable[[], Mapping[str, Array]]]
) -> set[int]:
    """The places of the sights that one of the sets reaches; the sets that come after the last of them are not run."""
    session = candidate.session_with(probes.addition())
    if session is None:
        raise VerificationError("the weights would be held once more")
    reached: set[int] = set()
    for make in feeds:
        if len(reached) == len(probes.sights):
            break
        found = session.run(fitted_feeds(candidate.fitting, make()), list(probes.wanted))
        reached |= {place for place, sight in enumerate(probes.sights) if sight.reached(found)}
    return reached


__all__ = ["coverage"]
