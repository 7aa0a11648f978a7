"""ONNX files that onnxruntime.quantization takes and gives: nodes with names, and what runs them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from graphir.errors import ExportFailure
from graphir.graph import Graph
from graphir.runtime.kernels import releases
from graphir.structure.names import Names
from graphir.structure.record import record
from graphir.types import DType

MOST_BYTES = 1 << 31  # what one protobuf message holds

def write_quantizable(graph: Graph, path: Path, opset: int | None, prepare: Callable[[Path, Path], None]) -> None:
    """Write a graph as one .onnx file, which `prepare` copies with its nodes fused, and give every node a name of its
    own. Raises ExportFailure beyond 2 GiB, which is the most that onnxruntime.quantization takes in one file."""
    import onnx

    from graphir.converters.onnx import to_model

    weights = sum(value.tensor.nbytes for value in graph.parameters if value.tensor and value.dtype is not DType.STRING)
    if weights >= MOST_BYTES:
        raise ExportFailure(
            f"{weights:,} bytes of weights: onnxruntime.quantization takes one file of less than 2 GiB; quantize "
            "parts of the model (--inputs, --outputs)"
        )
    exported = path.with_name("exported.onnx")
    onnx.save_model(to_model(graph, opset=opset), os.fspath(exported))
    prepare(exported, path)
    model = onnx.load_model(os.fspath(path))
    names = Names()
    for node in model.graph.node:
        node.name = names.fresh(node.name or node.output[0] or node.op_type)
    onnx.save_model(model, os.fspath(path))


@record
class QuantizedFile:
    """What a file needs: its opset, the oldest onnxruntime of graphir's table that opens it ("" if none does), and how
    often each operator occurs; operators of other domains have these in front."""

    opset: int
    onnxruntime: str
    operators: dict[str, int]


def describe_quantized(path: Path) -> QuantizedFile:
    """Return what a quantized file needs."""
    import onnx

    model = onnx.load_model(os.fspath(path))
    (opset,) = (entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
    counts = Counter(f"{node.domain}.{node.op_type}" if node.domain else node.op_type for node in model.graph.node)
    weights = {tensor.name: tensor.data_type for tensor in model.graph.initializer}
    wanted = []
    for node in model.graph.node:
        if not node.domain:
            since = onnx.defs.get_schema(node.op_type, opset).since_version
            is_int8 = len(node.input) > 1 and weights.get(node.input[1]) == onnx.TensorProto.INT8
            types = {"T1": "uint8", "T2": "int8"} if is_int8 and node.op_type.endswith("Integer") else {}
            wanted.append((node.op_type, since, types))
    oldest = ""
    for release in reversed(releases()):
        is_new = release.opset >= opset and release.ir_version >= model.ir_version
        if not is_new or not all(release.runs(name, since, opset, types) for name, since, types in wanted):
            break
        oldest = release.number
    return QuantizedFile(opset, oldest, dict(counts.most_common()))
