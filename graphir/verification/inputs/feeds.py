"""What two models are fed with for a comparison: arrays that are given, recorded or drawn."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphir.errors import GraphirError, VerificationError
from graphir.graph import Graph
from graphir.structure.state import STATE

from .given import Feeds, Wanted, plan_of
from .npz import chosen, npz_names, read_feeds, read_npz
from .sets import FeedSet, Plan, drawn_for_shapes, one_set
from .state import StateInput, state_inputs

if TYPE_CHECKING:
    from graphir.runtime.session import OnnxSession

Array = NDArray[Any]
PathLike = str | os.PathLike[str]


def golden_plan(recorded: Mapping[str, Array], feeds: Feeds | None, inputs: Sequence[str]) -> Plan:
    """The recorded inputs; those that a candidate has, if these are not all of them under other names."""
    if feeds is not None:
        raise VerificationError("a golden capture holds results for its own inputs only: other feeds have no answer")
    renamed = len(inputs) == len(recorded) and not recorded.keys() & set(inputs)
    return one_set("recorded", recorded if renamed else chosen(recorded, inputs))


def feeds_of(
    feeds: Feeds | None, graph: Graph, seed: int, other: Mapping[str, Sequence[object]] | None = None
) -> dict[str, Array]:
    """The first set that is given for a graph's inputs, else drawn values, in sizes that suit the inputs of the `other`
    model."""
    return plan_of(feeds, Wanted.of(graph, seed, other)).first().attempts[0]()


def file_plan(
    read: Callable[[], Graph],
    stated: Mapping[str, Any] | None,
    feeds: Feeds | None,
    seed: int,
    sessions: tuple[OnnxSession, OnnxSession],
) -> Plan:
    """The sets for the inputs of a file that the first session runs, in sizes that suit the second: as for any graph,
    and where it cannot be `read` as one, or leaves sizes open, of its own shapes; those that are `stated` count."""
    session, other = sessions
    shapes = {name: (stated or {}).get(name, shape) for name, shape in session.inputs.items()}

    notes: list[str] = []

    def drawing(names: Sequence[str]) -> Any:
        try:
            wanted = Wanted.of(read(), seed, other.inputs)
            sets = wanted.drawing(names)
            sets(False)[0].attempts[0]()
            notes.extend(note for note in wanted.notes if note not in notes)
            return sets
        except GraphirError:
            pass
        unknown = [name for name, dtype in session.input_dtypes.items() if dtype is None]
        if unknown:
            raise VerificationError(f"input {unknown[0]} is no tensor: nothing can be drawn for it")
        dtypes = {name: np.dtype(dtype) for name, dtype in session.input_dtypes.items() if dtype is not None}
        return drawn_for_shapes(shapes, dtypes, seed, names)

    return plan_of(feeds, Wanted(shapes, session.input_dtypes, drawing, notes, _state_of_file(read, session)))


def _state_of_file(read: Callable[[], Graph], session: OnnxSession) -> dict[str, StateInput]:
    """The state that a file's metadata name; the file is read for that only where they do."""
    if STATE not in session.metadata:
        return {}
    try:
        return state_inputs(read())
    except GraphirError:
        return {}


__all__ = ["FeedSet", "Plan", "chosen", "feeds_of", "file_plan", "golden_plan", "npz_names", "read_feeds", "read_npz"]
