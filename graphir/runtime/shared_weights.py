"""Weights that sessions read where they lie: in memory, or in files, each of which is mapped once for all sessions."""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphir.arrays import Array
from graphir.files.reading import open_plain
from graphir.structure.record import record

from .providers import Choice, import_onnxruntime

EXTERNAL_FOLDER = "session.model_external_initializers_file_folder_path"
# Python's mmap has it where the system does.
DROP_PAGES = getattr(mmap, "MADV_DONTNEED", None)


@record
class InMemory:
    """The bytes of an ONNX model without its large weights, and those: onnxruntime reads the arrays where they lie."""

    message: bytes
    weights: Mapping[str, Array]

    def share(self, runtime: Any, options: Any) -> list[Any]:
        """Hand the weights to a session's options; return what must live as long as the session."""
        # Of an array whose elements do not lie in order onnxruntime would make a copy of its own, and refuse that.
        arrays = (np.ascontiguousarray(array) for array in self.weights.values())
        values = [runtime.OrtValue.ortvalue_from_numpy(array) for array in arrays]
        options.add_external_initializers(list(self.weights), values)
        return values


@record
class WeightLocation:
    """Where the elements of a weight lie: ONNX's number of their type, the shape, the file, the offset in bytes and the
    bytes of an element."""

    element_type: int
    shape: tuple[int, ...]
    path: str
    offset: int
    item_size: int


class SharedWeights:
    """The weights of a model by name, for sessions on it or on parts of it. `folder` is what the locations of external
    data in the model are relative to. Those that are `turned` a session with optimisations has to map by itself: it may
    turn their axes and keep their names, under which it would then find them as they lie here.

    Where memory is scarce (`are_dropped`), the pages of the files that a run brings into memory are dropped behind it
    (`drop_pages`): two models that are run in turn then never have their weights in memory at the same time. The next
    run maps them again from the page cache, which takes time.
    """

    are_dropped = False

    def __init__(
        self, folder: str | os.PathLike[str], locations: Mapping[str, WeightLocation], turned: Collection[str] = ()
    ) -> None:
        self.folder = Path(folder)
        self._locations = dict(locations)
        self._turned = turned
        self._maps: dict[str, mmap.mmap] = {}
        self._values: dict[str, Any] = {}

    def add_to(self, options: Any, *, optimize: bool) -> None:
        """Have a session with these options read the weights here. onnxruntime keeps pointers: the session must not
        outlive this object. Raises OSError for a file that is gone, ValueError for one that was cut short."""
        if not self._values:
            self._values = {name: self._value(location) for name, location in self._locations.items()}
        for name, value in self._values.items():
            if not (optimize and name in self._turned):
                options.add_initializer(name, value)

    def drop_pages(self) -> None:
        """Let the system take back the memory that shows the files, where memory is scarce and it offers that."""
        if self.are_dropped and DROP_PAGES is not None:
            for content in self._maps.values():
                content.madvise(DROP_PAGES)

    def _value(self, location: WeightLocation) -> Any:
        content = self._maps.get(location.path)
        if content is None:
            with open_plain(location.path) as file:
                content = self._maps[location.path] = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        count = math.prod(location.shape)
        array = np.frombuffer(content, f"uint{8 * location.item_size}", count, location.offset)
        value = import_onnxruntime().OrtValue
        return value.ortvalue_from_numpy_with_onnx_type(array.reshape(location.shape), location.element_type)


def add_external(
    external: str | os.PathLike[str] | SharedWeights | None, options: Any, chosen: Sequence[Choice], *, optimize: bool
) -> SharedWeights | None:
    """Add the folder of the external data to the options, and weights that the CPU alone reads where they lie; return
    these weights."""
    if external is None:
        return None
    folder, shared = (external.folder, external) if isinstance(external, SharedWeights) else (external, None)
    options.add_session_config_entry(EXTERNAL_FOLDER, os.fspath(folder))
    if shared is not None and all(choice.row.name == "cpu" for choice in chosen):
        shared.add_to(options, optimize=optimize)
    return shared
