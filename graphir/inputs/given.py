"""The sets of inputs that a user names, a capture recorded, or that are drawn for a graph or a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphir.arrays import Array
from graphir.errors import GraphirError, VerificationError
from graphir.graph import Graph
from graphir.safety.arguments import PathLike
from graphir.structure.state import STATE
from graphir.types import DType, TensorType, parse_shape

from .draws import DRAWS
from .files import SUFFIXES, chosen, image_batches, read_feeds, read_npy
from .sets import (
    ALL,
    NAMES,
    FeedPlan,
    FeedSet,
    StateInput,
    about_settled,
    drawn_sets,
    joined,
    one_set,
    state_inputs,
    with_state,
    without_state,
)

if TYPE_CHECKING:
    from graphir.runtime.session import OnnxSession

One = Mapping[str, Any] | PathLike
Feeds = One | Sequence[One]
Drawing = Callable[[Sequence[str]], Callable[[bool], Sequence[FeedSet]]]


@dataclass(frozen=True)
class FeedRequest:
    """The inputs that feeds are for: shapes (what is no number is open) and dtypes by name. `drawing` makes the drawn
    sets of these names, `notes` are what is to be told of those. What is `state` need not be given."""

    shapes: Mapping[str, Sequence[object] | None]
    dtypes: Mapping[str, np.dtype[Any] | None]
    drawing: Drawing
    notes: Sequence[str] = ()
    state: Mapping[str, StateInput] = field(default_factory=dict)

    @staticmethod
    def of(
        graph: Graph,
        seed: int,
        other: Mapping[str, Sequence[object]] | None = None,
        candidate: Callable[[], Graph | None] = lambda: None,
    ) -> FeedRequest:
        """Return those of a graph; the drawn ones have sizes that suit the inputs of the `other` model; whole numbers
        are also those that the `candidate` compares with."""
        state = state_inputs(graph)
        return FeedRequest(
            {value.name: value.shape for value in graph.inputs},
            {value.name: (value.dtype or DType.FLOAT32).numpy() for value in graph.inputs},
            lambda names: without_state(drawn_sets(graph, seed, other, names, candidate=candidate), state),
            about_settled(graph, other or {}),
            state,
        )

    @property
    def names(self) -> list[str]:
        """The inputs that have to be given."""
        return [name for name in self.shapes if name not in self.state]

    def choose(self, given: Mapping[str, Array]) -> dict[str, Array]:
        """Return the arrays of the inputs. Raises VerificationError with all that are missing."""
        return chosen(given, [name for name in self.shapes if name in given or name not in self.state])


def plan_of(feeds: Feeds | None, wanted: FeedRequest) -> FeedPlan:
    """Return the sets that are given, in their order, or all drawn ones.

    Raises VerificationError for what is neither a file of inputs, a folder of such, nor the name of a drawn set.
    """
    if feeds is None:
        return with_state(FeedPlan(wanted.drawing(tuple(DRAWS)), wanted.notes), wanted.state)
    sources = [feeds] if isinstance(feeds, Mapping | str | os.PathLike) else list(feeds)
    if not sources:
        raise VerificationError("feeds: nothing is given; leave them out for drawn inputs")
    return with_state(joined([_plan_of_one(source, wanted) for source in sources]), wanted.state)


def _plan_of_one(source: One, wanted: FeedRequest) -> FeedPlan:
    if isinstance(source, Mapping):
        return one_set("given", wanted.choose(read_feeds(source)))
    text = os.fspath(source)
    if text == ALL:
        return FeedPlan(wanted.drawing(tuple(DRAWS)))
    if text in DRAWS:
        return FeedPlan(wanted.drawing((text,)))
    path = Path(source)
    if path.is_dir():
        return _of_folder(path, wanted)
    if not path.is_file() and path.suffix != ".npz":
        raise VerificationError(f"{path}: no such file or folder, and no drawn set of inputs ({', '.join(NAMES)})")
    if path.suffix.lower() in SUFFIXES:
        return _of_images(path, [path], wanted)
    return FeedPlan(lambda light: [_of_file(path, wanted)])


def _of_file(path: Path, wanted: FeedRequest) -> FeedSet:
    names = wanted.names
    if path.suffix == ".npy" and len(names) == 1:
        return FeedSet(path.name, (lambda: {names[0]: read_npy(path)},))
    if path.suffix == ".npy":
        shown = ", ".join(names)
        raise VerificationError(f"{path} holds one array, and the inputs are {shown}: give an .npz or a folder")
    return FeedSet(path.name, (lambda: wanted.choose(read_feeds(path)),))


def _of_folder(folder: Path, wanted: FeedRequest) -> FeedPlan:
    """Return every .npz a set, as is every .npy of a model with one input; of one with several, one set of the arrays
    named after them. Images are one set a batch."""
    names = wanted.names
    files = sorted(file for file in folder.iterdir() if file.is_file())
    arrays = [file for file in files if file.suffix == ".npy"]
    sets = [_of_file(file, wanted) for file in files if file.suffix == ".npz"]
    if arrays and {file.stem for file in arrays} >= set(names):
        by_name = {file.stem: file for file in arrays}
        sets.append(FeedSet(folder.name, (lambda: {name: read_npy(by_name[name]) for name in names},)))
    elif arrays:
        sets += [_of_file(file, wanted) for file in arrays]
    images = [file for file in files if file.suffix.lower() in SUFFIXES]
    parts = [FeedPlan(lambda light: sets)] if sets else []
    if images:
        parts.append(_of_images(folder, images, wanted))
    if not parts:
        shown = ", ".join(file.name for file in files[:5]) or "nothing"
        raise VerificationError(
            f"{folder} holds no inputs: expected .npz, .npy or images ({', '.join(SUFFIXES)}), found {shown}"
        )
    return joined(parts)


def _of_images(folder: Path, images: Sequence[Path], wanted: FeedRequest) -> FeedPlan:
    if len(wanted.names) != 1:
        raise VerificationError(f"{folder}: images feed a model with one input; this one has {', '.join(wanted.names)}")
    (name,) = wanted.names
    batches, note = image_batches(images, name, wanted.shapes[name], wanted.dtypes[name])

    def sets() -> Iterator[FeedSet]:
        for files, make in batches:
            label = files[0].name if len(files) == 1 else f"{files[0].name} ... {files[-1].name}"
            yield FeedSet(label, (partial(_named, name, make),))

    return FeedPlan(lambda light: list(sets()), (note,))


def _named(name: str, make: Callable[[], Array]) -> dict[str, Array]:
    return {name: make()}


def golden_plan(recorded: Mapping[str, Array], feeds: Feeds | None, inputs: Sequence[str]) -> FeedPlan:
    """Return one set of the recorded inputs that a candidate takes."""
    if feeds is not None:
        raise VerificationError("a golden capture holds results for its own inputs only: other feeds have no answer")
    return one_set("recorded", recorded_feeds(recorded, inputs))


def recorded_feeds(recorded: Mapping[str, Array], inputs: Sequence[str]) -> dict[str, Array]:
    """Return the recorded inputs; those that a candidate has, if these are not all of them under other names."""
    renamed = len(inputs) == len(recorded) and not recorded.keys() & set(inputs)
    return dict(recorded) if renamed else chosen(recorded, inputs)


def feeds_of(feeds: Feeds | None, graph: Graph, seed: int) -> dict[str, Array]:
    """Return the first set that is given for a graph's inputs, else drawn values."""
    return plan_of(feeds, FeedRequest.of(graph, seed)).first().attempts[0]()


def file_plan(
    read: Callable[[], Graph],
    stated: Mapping[str, Any] | None,
    feeds: Feeds | None,
    seed: int,
    sessions: tuple[OnnxSession, OnnxSession],
    candidate: Callable[[], Graph | None],
) -> FeedPlan:
    """Return the sets for the inputs of a file that the first session runs, in sizes that suit the second: as for any
    graph, and where it cannot be `read` as one, or leaves sizes open, of its own shapes; those that are `stated`
    count. `candidate` is as in `FeedRequest.of`."""
    session, other = sessions
    shapes = {name: (stated or {}).get(name, shape) for name, shape in session.inputs.items()}
    notes: list[str] = []

    def drawing(names: Sequence[str]) -> Callable[[bool], Sequence[FeedSet]]:
        try:
            wanted = FeedRequest.of(read(), seed, other.inputs, candidate)
            sets = wanted.drawing(names)
            sets(False)[0].attempts[0]()
            notes.extend(note for note in wanted.notes if note not in notes)
            return sets
        except GraphirError:
            return drawn_sets(_inputs_alone(shapes, session.input_dtypes), seed, other.inputs, names, is_opaque=True)

    return plan_of(feeds, FeedRequest(shapes, session.input_dtypes, drawing, notes, _state_of_file(read, session)))


def _inputs_alone(shapes: Mapping[str, Sequence[object]], dtypes: Mapping[str, np.dtype[Any] | None]) -> Graph:
    """Return a graph of nothing but the inputs."""
    graph = Graph("inputs")
    for name, shape in shapes.items():
        dtype = dtypes[name]
        if dtype is None:
            raise VerificationError(f"input {name} is no tensor: nothing can be drawn for it")
        sizes = parse_shape(",".join(str(size) if isinstance(size, int) else "?" for size in shape))
        graph.add_input(name, TensorType(DType.of(dtype), sizes))
    return graph


def _state_of_file(read: Callable[[], Graph], session: OnnxSession) -> dict[str, StateInput]:
    """Return the state that a file's metadata name; the file is read for that only where they do."""
    if STATE not in session.metadata:
        return {}
    try:
        return state_inputs(read())
    except GraphirError:
        return {}
