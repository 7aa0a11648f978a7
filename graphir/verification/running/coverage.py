"""What sets of inputs reach in a model and never reach, measured by runs of it.

Agreement says nothing of what was not computed. A session of the model with a few numbers for each operator that
matters runs on every set; none of the values themselves leaves it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from graphir.arrays import Array
from graphir.errors import GraphirError, VerificationError

from .candidate import OnnxCandidate
from .layouts import fitted_feeds

if TYPE_CHECKING:
    from graphir.converters.onnx.probes import Probes, Sight

# A value that is measured is copied once, as a number of another type; where it may be empty it is laid in a row and
# joined with something twice.
COPIES, GUARDED_COPIES = 1, 4


def coverage(candidate: OnnxCandidate, feeds: Sequence[Callable[[], Mapping[str, Array]]]) -> list[str]:
    """Return lines that say what the sets of feeds, which the candidate takes, reached in it; none for a model in which
    there is nothing of that kind. Where it cannot be measured the line says why."""
    from graphir.converters.onnx.files.structure import graph_message
    from graphir.converters.onnx.probes import Probes, never_reached

    graph = graph_message(candidate.path)
    reason = ""
    for copies in (COPIES, GUARDED_COPIES):
        probes = Probes(graph, guarded=copies == GUARDED_COPIES)
        try:
            return never_reached(probes.sights, _reached(candidate, probes, feeds, copies) if probes.sights else ())
        except GraphirError as error:
            reason = str(error).splitlines()[0][:200]
            if isinstance(error, _NoRoom):
                break
    return [f"not measured: {reason}"]


def unreached(
    candidate: OnnxCandidate, results: AbstractSet[str], feeds: Sequence[Callable[[], Mapping[str, Array]]]
) -> list[Sight]:
    """Return what the nodes that make these results can be brought to, and none of the sets of feeds brought them to.

    Raises GraphirError where that cannot be measured.
    """
    from graphir.converters.onnx.files.structure import graph_message
    from graphir.converters.onnx.probes import Probes

    probes = Probes(graph_message(candidate.path), guarded=True, results=results)
    reached = _reached(candidate, probes, feeds, GUARDED_COPIES) if probes.sights and feeds else set()
    return [sight for place, sight in enumerate(probes.sights) if place not in reached]


class _NoRoom(VerificationError):
    """What is measured, or the weights for it, has no room."""


def _reached(
    candidate: OnnxCandidate, probes: Probes, feeds: Sequence[Callable[[], Mapping[str, Array]]], copies: int
) -> set[int]:
    """Return the places of the sights that a set reaches; once all are, no further set is run."""
    session = candidate.session_with(probes.addition())
    if session is None:
        raise _NoRoom("the weights would be held once more")
    reached: set[int] = set()
    for make in feeds:
        if len(reached) == len(probes.sights):
            break
        feed = make()
        if not candidate.has_room(feed, copies):
            raise _NoRoom(f"the memory budget of {candidate.memory / 1e6:,.0f} MB has no room for it")
        results = session.run(fitted_feeds(candidate.fitting, feed), list(probes.wanted))
        reached |= {index for index, sight in enumerate(probes.sights) if sight.reached(results)}
    return reached
