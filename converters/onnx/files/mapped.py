"""An .onnx file for onnxruntime without its weights being copied: they are named as external data that lies in the very
file that holds them. All sessions on the model share them where they lie, there or in other files."""

from __future__ import annotations

import math
import os
import platform
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphir.converters.onnx.files.stripped import stripped_file
from graphir.converters.onnx.files.structure import mapped_bytes, nodes_inside, tensors_of
from graphir.converters.onnx.files.tensors import external_place
from graphir.converters.onnx.files.wire import LARGE, MARK, Stripped
from graphir.errors import FormatError
from graphir.ops import traits_of
from graphir.ops.traits import Rounding
from graphir.runtime.shared_weights import SharedWeights, WeightLocation

# ONNX's element types that lie in raw data as whole numbers of bytes, and how many.
SIZES = {1: 4, 2: 1, 3: 1, 4: 2, 5: 2, 6: 4, 7: 8, 9: 1, 10: 2, 11: 8, 12: 4, 13: 8, 16: 2}
# Of these onnxruntime's optimiser leaves the weights as they lie, since it pushes no Transpose through them: sums of
# products, what is run step after step, what it alone has (whose traits are unknown here), and tables that are looked
# up. All large weights are among them.
KEEPING, LOOKUPS = frozenset({Rounding.PRODUCTS, Rounding.STATES, Rounding.UNKNOWN}), frozenset({"Gather"})
# What is mapped need not be aligned in a file. These processors load it all the same, as fast.
UNALIGNED = frozenset({"x86_64", "amd64", "aarch64", "arm64"})


@dataclass(frozen=True)
class Mapped:
    """A model whose large weights lie where they were: its serialized ModelProto, and these weights."""

    message: bytes
    weights: SharedWeights


def mapped_model(path: str | os.PathLike[str]) -> Mapped | None:
    """Return the file with its weights named in place; None where there are none to name (they are small), or the
    machine cannot take them from there, or it is no ONNX model, which onnxruntime is to say.
    """
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    real_path = Path(os.path.realpath(path))
    if sys.byteorder != "little" or not _is_utf8(real_path.name):
        return None
    content = mapped_bytes(path)
    model = onnx.ModelProto()
    try:
        stripped = stripped_file(path)
        model.ParseFromString(stripped.message)
    except (FormatError, DecodeError):
        return None
    all_tensors = list(_all_tensors(model))
    marked = [tensor for tensor in all_tensors if any(entry.key == MARK for entry in tensor.external_data)]
    if any(_region(tensor, stripped) is None for tensor in marked):
        return None
    folder = _name_contents(all_tensors, Path(path), real_path)
    # Of the tensors elsewhere (of attributes, of graphs inside nodes) onnxruntime wants the elements.
    inside = {
        tensor.name: (real_path, region[0])
        for tensor in (model.graph.initializer if folder == real_path.parent else ())
        if (region := _region(tensor, stripped)) is not None and _is_whole(tensor, *region)
    }
    outside = {tensor.name: place for tensor in model.graph.initializer if (place := _place(tensor, Path(path)))}
    if not inside and not outside:
        return None
    # onnxruntime reads a name that a graph inside a node gives a weight of its own from there.
    names = Counter(tensor.name for tensor in all_tensors)
    locations = {
        tensor.name: _location(tensor, *place) for tensor in model.graph.initializer
        if (place := inside.get(tensor.name) or outside.get(tensor.name)) and names[tensor.name] == 1
    }  # fmt: skip
    for tensor in model.graph.initializer:
        if tensor.name in inside:
            _name(tensor, real_path.name, _region(tensor, stripped))
    for tensor in marked:
        region = _region(tensor, stripped)
        if region is not None:
            tensor.ClearField("external_data")
            tensor.raw_data = bytes(content[region[0] : sum(region)])
    return Mapped(model.SerializeToString(), SharedWeights(folder, locations, _turned(model)))


def _turned(model: Any) -> frozenset[str]:
    """Return what is read by operators through which onnxruntime's optimiser may push a Transpose, which turns their
    weights in place. Nothing where there is none, nor 8-bit convolutions, around which it puts some, nor functions,
    whose nodes take their place."""
    functions = {function.name for function in model.functions}
    nodes = [each for node in model.graph.node for each in (node, *nodes_inside(node))]
    rounding = {node.op_type: traits_of(node.op_type).rounding for node in nodes}
    if "Transpose" not in rounding and Rounding.QUANTIZES not in rounding.values() and functions.isdisjoint(rounding):
        return frozenset()
    keeping = {name for name, kind in rounding.items() if kind in KEEPING or name in LOOKUPS} - functions
    return frozenset(name for node in nodes if node.op_type not in keeping for name in node.input)


def _name_contents(tensors: Iterable[Any], model: Path, real_model: Path) -> Path:
    """Name the files themselves in which elements lie, not links to them, and return the folder that these names are
    relative to: that of the model's own file or, where they do not lie in it, of the link to the model. onnxruntime
    reads nothing outside one folder."""
    contents: dict[str, Path] = {}
    entries = [entry for tensor in tensors for entry in tensor.external_data if entry.key == "location"]
    for text in dict.fromkeys(entry.value for entry in entries):
        with suppress(FormatError):  # onnxruntime is to say what is wrong with it
            contents[text] = Path(os.path.realpath(external_place(model, text, "a weight")))
    folders = (real_model.parent, Path(os.path.realpath(model.parent)))
    folder = next((f for f in folders if all(content.is_relative_to(f) for content in contents.values())), folders[0])
    for entry in entries:
        content = contents.get(entry.value)
        if content is not None and content.is_relative_to(folder):
            entry.value = content.relative_to(folder).as_posix()
    return folder


def _place(tensor: Any, model: Path) -> tuple[Path, int] | None:
    """Return the other file in which the elements of a tensor lie, and the offset; None where they lie in none, or not
    all of them do, which onnxruntime is to say."""
    from onnx import TensorProto

    if tensor.data_location != TensorProto.EXTERNAL:
        return None
    entries = {entry.key: entry.value for entry in tensor.external_data}
    offset = entries.get("offset", "0")
    if not offset.isdecimal():
        return None
    try:
        path = external_place(model, entries.get("location", ""), tensor.name)
        size = os.path.getsize(path)
    except (FormatError, OSError):
        return None
    length = math.prod(tensor.dims) * SIZES.get(tensor.data_type, 0)
    is_whole = entries.get("length", str(length)) == str(length) and int(offset) + length <= size
    return (path, int(offset)) if is_whole and length >= LARGE and _is_whole(tensor, int(offset), length) else None


def _location(tensor: Any, path: Path, offset: int) -> WeightLocation:
    return WeightLocation(tensor.data_type, tuple(tensor.dims), str(path), offset, SIZES[tensor.data_type])


def _all_tensors(model: Any) -> Iterator[Any]:
    return tensors_of(model.graph, *(function.node for function in model.functions))


def _region(tensor: Any, stripped: Stripped) -> tuple[int, int] | None:
    """Return where the elements lie that were taken out of a tensor, as offset and length; None where none were."""
    entries = tensor.external_data
    if len(entries) != 1 or entries[0].key != MARK or not entries[0].value.isdecimal():
        return None
    index = int(entries[0].value)
    return stripped.regions[index] if index < len(stripped.regions) else None


def _is_whole(tensor: Any, offset: int, length: int) -> bool:
    """Return whether the region is the tensor's elements, and can be read where it lies."""
    size = SIZES.get(tensor.data_type)
    if size is None or min(tensor.dims, default=0) < 0 or math.prod(tensor.dims) * size != length:
        return False
    return offset % size == 0 or platform.machine().lower() in UNALIGNED


def _name(tensor: Any, location: str, region: tuple[int, int] | None) -> None:
    """Say where the tensor's elements lie."""
    from onnx import TensorProto

    assert region is not None
    tensor.ClearField("external_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, text in (("location", location), ("offset", str(region[0])), ("length", str(region[1]))):
        tensor.external_data.add(key=key, value=text)


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
