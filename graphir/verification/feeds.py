"""What two models are fed with for a comparison: arrays that are given, recorded or drawn."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphir.converters.opening import read_model
from graphir.errors import FormatError, GraphirError, VerificationError
from graphir.files.reading import open_plain
from graphir.graph import Graph
from graphir.verification.seeded import make_feeds, sizes_stated

if TYPE_CHECKING:
    from graphir.converters.options import ModelOptions
    from graphir.runtime.session import OnnxSession

Array = NDArray[Any]
PathLike = str | os.PathLike[str]
UNREADABLE = (OSError, EOFError, ValueError, AttributeError, TypeError, FormatError)


def golden_feeds(
    recorded: Mapping[str, Array], feeds: Mapping[str, Any] | PathLike | None, inputs: Sequence[str]
) -> dict[str, Array]:
    """The recorded inputs; those that a candidate has, if these are not all of them under other names."""
    if feeds is not None:
        raise VerificationError("a golden capture holds results for its own inputs only: other feeds have no answer")
    renamed = len(inputs) == len(recorded) and not recorded.keys() & set(inputs)
    return dict(recorded) if renamed else chosen(recorded, inputs)


def feeds_of(
    feeds: Mapping[str, Any] | PathLike | None,
    graph: Graph,
    seed: int,
    other: Mapping[str, Sequence[object]] | None = None,
) -> dict[str, Array]:
    """What is given for a graph's inputs, else drawn values, in sizes that suit the inputs of the `other` model."""
    if feeds is None:
        return make_feeds(graph, seed=seed, sizes=sizes_stated(graph, other or {}))
    return chosen(read_feeds(feeds), [value.name for value in graph.inputs])


def chosen(given: Mapping[str, Array], names: Sequence[str]) -> dict[str, Array]:
    """The arrays of the inputs. Raises VerificationError with all that are missing."""
    missing = [name for name in names if name not in given]
    if missing:
        raise VerificationError(f"the feeds lack {', '.join(missing)}; they have {', '.join(given) or 'nothing'}")
    return {name: given[name] for name in names}


def read_feeds(feeds: Mapping[str, Any] | PathLike) -> dict[str, Array]:
    """Arrays by name, from a mapping or an .npz."""
    if isinstance(feeds, Mapping):
        return {name: np.asarray(array) for name, array in feeds.items()}
    return {name.removeprefix("input:"): array for name, array in read_npz(feeds).items()}


def npz_names(path: PathLike) -> list[str]:
    """The names of an .npz file's arrays. Raises VerificationError."""
    return list(_in_npz(path, lambda archive: archive.files))


def read_npz(path: PathLike, names: Sequence[str] | None = None) -> dict[str, Array]:
    """The arrays of an .npz, or those named. Raises VerificationError."""

    def read(archive: Any) -> dict[str, Array]:
        return {name: archive[name] for name in (archive.files if names is None else names)}

    found: dict[str, Array] = _in_npz(path, read)
    return found


def _in_npz(path: PathLike, read: Callable[[Any], Any]) -> Any:
    import zipfile
    import zlib

    try:
        with open_plain(path) as file, np.load(file, allow_pickle=False) as archive:
            return read(archive)
    except (*UNREADABLE, zipfile.BadZipFile, zlib.error) as error:
        raise VerificationError(f"cannot read {path} as an .npz of arrays: {error}") from error


def file_feeds(
    path: PathLike, options: ModelOptions, seed: int, session: OnnxSession, other: Mapping[str, Sequence[object]]
) -> dict[str, Array]:
    """Values for the inputs of a file that a session runs: as for any graph, and where it cannot be read as one, or
    leaves sizes open, standard normal ones of its own shapes."""
    try:
        graph = read_model(path, options).graph
        return make_feeds(graph, seed=seed, sizes=sizes_stated(graph, other))
    except GraphirError:
        pass
    generator = np.random.Generator(np.random.PCG64(seed))
    arrays = {}
    for name, shape in session.inputs.items():
        wanted = (options.shapes or {}).get(name, shape)
        sizes = [size if isinstance(size, int) else 2 for size in wanted]  # type: ignore[attr-defined]
        dtype = session.input_dtypes[name]
        if dtype is None:
            raise VerificationError(f"input {name} is no tensor: nothing can be drawn for it")
        drawn = generator.standard_normal(sizes) if dtype.kind in "fV" else generator.integers(0, 2, sizes)
        arrays[name] = np.asarray(drawn).astype(dtype)
    return arrays


__all__ = ["chosen", "feeds_of", "file_feeds", "golden_feeds", "npz_names", "read_feeds", "read_npz"]
