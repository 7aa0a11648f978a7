"""What the inputs of a comparison reached in a model, and what they never did: bounds, rows, branches, boxes.

Agreement says nothing of what was not computed. A session of the model with a few numbers for each operator that
concerns runs once more on every set, none of the values themselves leaves it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from graphir.errors import GraphirError, VerificationError
from graphir.verification.running.candidate import OnnxCandidate
from graphir.verification.running.layouts import fitted_feeds

if TYPE_CHECKING:
    from graphir.converters.onnx.probes import Probes

Array = NDArray[Any]
# A value that is measured is copied once, as a number of another type; where it may be empty it is laid in a row and
# joined with something twice.
COPIES, GUARDED_COPIES = 1, 4


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
        reached = _reached(candidate, probes, feeds, COPIES)
    except _NoRoom as error:
        return [f"not measured: {error}"]
    except VerificationError:
        probes = Probes(graph, guarded=True)
        try:
            reached = _reached(candidate, probes, feeds, GUARDED_COPIES)
        except GraphirError as error:
            return [f"not measured: {str(error).splitlines()[0][:200]}"]
    return never_reached(probes.sights, reached)


class _NoRoom(VerificationError):
    """What is measured, or the weights for it, has no room."""


def _reached(
    candidate: OnnxCandidate, probes: Probes, feeds: Sequence[Callable[[], Mapping[str, Array]]], copies: int
) -> set[int]:
    """The places of the sights that one of the sets reaches; the sets that come after the last of them are not run."""
    session = candidate.session_with(probes.addition())
    if session is None:
        raise _NoRoom("the weights would be held once more")
    reached: set[int] = set()
    for make in feeds:
        if len(reached) == len(probes.sights):
            break
        given = make()
        if not candidate.has_room(given, copies):
            raise _NoRoom(f"the memory budget of {candidate.memory / 1e6:,.0f} MB has no room for it")
        found = session.run(fitted_feeds(candidate.fitting, given), list(probes.wanted))
        reached |= {place for place, sight in enumerate(probes.sights) if sight.reached(found)}
    return reached


__all__ = ["coverage"]
