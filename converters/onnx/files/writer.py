"""ONNX records to bytes, weights streamed: a weight is never held in anonymous memory.

The graph without its weights is a protobuf message like any other. Weights are spliced into its stream: a tensor's
header, then its bytes, copied from file to file. Field numbers and wire types are those of onnx.proto.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from numpy.typing import NDArray

from graphir.converters.onnx.files.messages import Place, graph_message, header_of, model_message, tensor_header
from graphir.converters.onnx.files.messages import output_addition as output_addition
from graphir.converters.onnx.files.notes import TENSOR, Notes
from graphir.converters.onnx.files.records import OnnxModel
from graphir.errors import ExportFailure
from graphir.files.regions import SourceFiles
from graphir.files.writing import replacing, replacing_pair
from graphir.safety.counted import counted
from graphir.tensor import Tensor
from graphir.types import DType

SINGLE_FILE_LIMIT = (1 << 31) - (1 << 20)
INLINE_BELOW = 1024
WEIGHT_MODES = ("auto", "inline", "external", "reference")


def write_model(model: OnnxModel, path: str | os.PathLike[str], *, weights: str = "auto") -> list[Path]:
    """Write the model and return the files written, the .onnx first.

    `weights`: `inline` puts everything into one file, which ends below 2 GiB; `external` puts weights of 1 KB and more,
    if there are any, into `<name>.data` beside it; `reference` leaves them in the source's .params, which must lie in
    the folder of the target or below; `auto` is inline where that fits, else external. Nothing is left behind by a
    failure.
    Raises ExportFailure.
    """
    if weights not in WEIGHT_MODES:
        raise ExportFailure(f"weights={weights!r}: expected one of {', '.join(WEIGHT_MODES)}")
    target = Path(path)
    total = sum(_stored_size(tensor) for tensor in model.initializers.values())
    if weights == "auto":
        weights = "inline" if total < SINGLE_FILE_LIMIT else "external"
    if weights == "inline" and total >= SINGLE_FILE_LIMIT:
        raise ExportFailure(
            f"{total} bytes of weights do not fit into one ONNX file (protobuf ends at 2 GiB); "
            "use --weights external"
        )
    if weights == "inline" or (weights == "external" and not any(map(_is_large, model.initializers.values()))):
        with replacing(target) as (file,):
            _write_stream(model, file, {})
        return [target]
    if weights == "reference":
        references = _reference_places(model, Path(os.path.abspath(target)).parent)
        with replacing(target) as (file,):
            _write_stream(model, file, references)
        return [target]
    data = target.with_name(target.name + ".data")
    with replacing_pair(data, target) as pair:
        stretches = _write_external(model, pair.weights)
        for location, file in pair.descriptions:
            _write_stream(model, file, {name: (location, *stretch) for name, stretch in stretches.items()})
    return [target, data]


def model_bytes(model: OnnxModel) -> bytes:
    """Return the whole model as bytes, weights included. Raises ExportFailure beyond protobuf's 2 GiB."""
    import io

    total = sum(_stored_size(tensor) for tensor in model.initializers.values())
    if total >= SINGLE_FILE_LIMIT:
        raise ExportFailure(f"{total} bytes of weights do not fit into one protobuf message; write the model to a file")
    stream = io.BytesIO()
    _write_stream(model, stream, {})
    return stream.getvalue()


def bytes_in_place(model: OnnxModel) -> tuple[bytes, Path]:
    """Return the model as bytes, with the weights that lie in files left there, and the folder that their locations are
    relative to. Raises ExportFailure beyond protobuf's 2 GiB."""
    import io

    regions = [tensor.region for tensor in model.initializers.values() if tensor.region is not None]
    parents = {os.path.dirname(os.path.abspath(region.path)) for region in regions} or {os.getcwd()}
    folder = Path(os.path.commonpath(parents))
    stream = io.BytesIO()
    _write_stream(model, stream, _reference_places(model, folder))
    return stream.getvalue(), folder


def bytes_and_arrays(model: OnnxModel) -> tuple[bytes, dict[str, NDArray[Any]]]:
    """Return the model as bytes without the floats of 1 KB and more that lie in memory, and those as arrays by name.

    Integers stay in the message, where inference of shapes reads them. Raises ExportFailure where what stays is beyond
    protobuf's 2 GiB.
    """
    import io

    arrays = {
        name: tensor.numpy() for name, tensor in model.initializers.items()
        if tensor.region is None and _is_large(tensor) and tensor.dtype.numpy().kind == "f"
    }  # fmt: skip
    stream = io.BytesIO()
    _write_stream(model, stream, {name: ("in memory", 0, array.nbytes) for name, array in arrays.items()})
    return stream.getvalue(), arrays


def _stored_size(tensor: Tensor) -> int:
    return 0 if tensor.dtype is DType.STRING else tensor.nbytes


def _is_large(tensor: Tensor) -> bool:
    return _stored_size(tensor) >= INLINE_BELOW


def _write_external(model: OnnxModel, file: IO[bytes]) -> dict[str, tuple[int, int]]:
    """Write the large weights; the offset and length of each."""
    stretches: dict[str, tuple[int, int]] = {}
    position = 0
    with SourceFiles() as sources:
        for name, tensor in model.initializers.items():
            if not _is_large(tensor):
                continue
            align = 4096 if tensor.nbytes >= 1 << 20 else 64
            gap = -position % align
            file.write(bytes(gap))
            stretches[name] = (position + gap, tensor.nbytes)
            position += gap + tensor.write_to(file, sources)
    return stretches


def _reference_places(model: OnnxModel, folder: Path) -> dict[str, Place]:
    references: dict[str, Place] = {}
    for name, tensor in model.initializers.items():
        if tensor.region is None or tensor.nbytes < INLINE_BELOW:
            continue
        source = Path(os.path.abspath(tensor.region.path))
        if not source.is_relative_to(folder):
            raise ExportFailure(
                f"--weights reference: the weights lie in {source}, outside the target's folder {folder}; "
                "write the .onnx beside them, or use --weights external"
            )
        references[name] = (source.relative_to(folder).as_posix(), tensor.region.offset, tensor.region.nbytes)
    return references


def _write_stream(model: OnnxModel, file: IO[bytes], references: Mapping[str, Place]) -> None:
    """ModelProto: everything but the graph (fields 1 to 3, 8, 14), then the graph (7) with its initializers (5)."""
    head, body = model_message(model), graph_message(model)
    notes = Notes(model.metadata)
    frames: list[tuple[bytes, Tensor | None]] = []
    length = len(body)
    for name, tensor in model.initializers.items():
        header, size = tensor_header(name, tensor, references.get(name), notes.of(TENSOR, (name,)))
        frame = header_of(5, len(header) + size) + header
        frames.append((frame, tensor if size else None))
        length += len(frame) + size
    start = head + header_of(7, length)
    if len(start) + length >= SINGLE_FILE_LIMIT + (1 << 20):
        raise ExportFailure(f"the model takes {length} bytes, more than protobuf's 2 GiB; use --weights external")
    file.write(start)
    with SourceFiles() as sources:
        for frame, weight in counted(frames, "weight"):
            file.write(frame)
            if weight is not None:
                weight.write_to(file, sources)
    file.write(body)
