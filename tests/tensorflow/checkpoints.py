"""Checkpoints, SavedModels and .meta files written without TensorFlow: a small network in several forms."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.converters.tensorflow.files.bundle import slice_key
from graphir.converters.tensorflow.files.sstable import MAGIC, crc32c, read_table
from graphir.types import DType
from tests.tensorflow.graphdef import CODES, const, encode, function, node, placeholder, shape_proto, varint

INDEX = ".index"
Entries = Sequence[tuple[bytes, bytes]]
Files = Mapping[str, bytes]


def table_of(entries: Entries, chance: Callable[[int], int] | None = None) -> bytes:
    """The bytes of an index file with these entries, their checksums right; `chance` may bend what frames them."""
    data = bytearray()
    block = block_of(entries, chance)
    handle = append(data, block)
    index = append(data, block_of([(b"\xff" * 4, handle)]))
    meta = append(data, block_of([]))
    data += (meta + index).ljust(40, b"\0") + struct.pack("<Q", MAGIC)
    return bytes(data)


def block_of(entries: Entries, chance: Callable[[int], int] | None = None) -> bytes:
    """The bytes of a block with these entries."""
    found = bytearray()
    for key, value in entries:
        shared, own, length = 0, len(key), len(value)
        if chance is not None and chance(40) == 0:
            shared, own, length = (number + chance(3) * chance(1 << 40) for number in (shared, own, length))
        found += varint(shared) + varint(own) + varint(length) + key + value
    restarts = 1 if chance is None or chance(30) else chance(1 << 32)
    return bytes(found) + struct.pack("<II", 0, restarts)


def append(data: bytearray, block: bytes) -> bytes:
    """Put a block behind the others; its handle."""
    place = len(data)
    held = block + b"\0"
    checksum = crc32c(held)
    masked = ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF
    data += held + struct.pack("<I", masked)
    return varint(place) + varint(len(block))


def table_parts(data: bytes) -> list[tuple[bytes, bytes]]:
    """The entries of an index file that `table_of` wrote."""
    return list(read_table(memoryview(data), Path("index")).items())


def checkpoint(prefix: str, tensors: Mapping[str, NDArray[Any]], sliced: Sequence[str] = ()) -> dict[str, bytes]:
    """The files of a checkpoint of one shard; those of the `sliced` are saved in two parts along their first axis."""
    data = bytearray()
    entries: dict[bytes, bytes] = {b"": encode("BundleHeaderProto", {"num_shards": 1, "version": {"producer": 1}})}

    def stored(array: NDArray[Any]) -> dict[str, Any]:
        content = _texts(array) if array.dtype.kind == "O" else array.tobytes()
        place = {"offset": len(data), "size": len(content)}
        data.extend(content)
        return {"dtype": _code(array), "shape": shape_proto(array.shape), "shard_id": 0, **place}

    for name, array in tensors.items():
        if name not in sliced:
            entries[name.encode()] = encode("BundleEntryProto", stored(array))
            continue
        middle = len(array) // 2
        parts = []
        for start, stop in ((0, middle), (middle, len(array))):
            sizes = ((start, stop - start), *((0, -1) for _ in array.shape[1:]))
            entries[slice_key(name, sizes)] = encode("BundleEntryProto", stored(array[start:stop]))
            parts.append({"extent": [_extent(begin, size) for begin, size in sizes]})
        whole = {"dtype": _code(array), "shape": shape_proto(array.shape), "slices": parts}
        entries[name.encode()] = encode("BundleEntryProto", whole)
    return {f"{prefix}{INDEX}": table_of(sorted(entries.items())), f"{prefix}.data-00000-of-00001": bytes(data)}


def _extent(start: int, size: int) -> dict[str, int]:
    return {"start": start} if size < 0 else {"start": start, "length": size}


def _code(array: NDArray[Any]) -> int:
    return 7 if array.dtype.kind == "O" else CODES[DType.of(array.dtype).value]


def _texts(array: NDArray[Any]) -> bytes:
    texts = [text.encode() if isinstance(text, str) else text for text in array.reshape(-1)]
    lengths = b"".join(varint(len(text)) for text in texts)
    return lengths + b"\0" * 4 + b"".join(texts)


KERNEL = np.arange(12, dtype=np.float32).reshape(4, 3) / 10
BIAS = np.array([0.5, -1.0, 2.0], np.float32)
KEY = "layer/{}/.ATTRIBUTES/VARIABLE_VALUE"


def _reading(name: str, shape: Sequence[int]) -> list[dict[str, Any]]:
    held = node("VarHandleOp", name, dtype="float32", shape=shape, shared_name=name, container="")
    return [held, node("ReadVariableOp", f"{name}/read", [name], dtype="float32")]


def _graph(*, calls: bool = False) -> dict[str, Any]:
    """A dense layer; as a call of a function, or as it is."""
    nodes = [placeholder("serve_x", "float32", (None, 4)), *_reading("kernel", (4, 3)), *_reading("bias", (3,))]
    product = node("MatMul", "product", ["a", "b"], T="float32", transpose_a=False, transpose_b=False)
    held: dict[str, Any] = {"versions": {"producer": 1882}}
    if calls:
        added = node("BiasAdd", "sum", ["product:product:0", "c"], T="float32", data_format="NHWC")
        arguments = {"a": "float32", "b": "float32", "c": "float32"}
        dense = function("dense", arguments, {"out": ("float32", "sum:output:0")}, product, added)
        types = {"Tin": ["float32"] * 3, "Tout": ["float32"]}
        inputs = ["serve_x", "kernel/read", "bias/read"]
        nodes.append(node("StatefulPartitionedCall", "y", inputs, f="dense", **types))
        return {**held, "node": nodes, "library": {"function": [dense]}}
    added = node("BiasAdd", "y", ["product", "bias/read"], T="float32", data_format="NHWC")
    return {**held, "node": [*nodes, {**product, "input": ["serve_x", "kernel/read"]}, added]}


def _restoring() -> dict[str, Any]:
    """The nodes that restore the variables from the checkpoint, as tf.train.Saver writes them."""
    prefix = const("save/Const", np.array("model", object))
    names = const("save/names", np.array(["kernel", "bias"], object))
    slices = const("save/slices", np.array(["", ""], object))
    restored = node(
        "RestoreV2", "save/RestoreV2", ["save/Const", "save/names", "save/slices"], dtypes=["float32", "float32"]
    )
    assigned = [
        node("AssignVariableOp", f"save/{name}", [name, f"save/RestoreV2:{slot}"], dtype="float32")
        for slot, name in enumerate(("kernel", "bias"))
    ]
    graph = _graph()
    return {**graph, "node": [*graph["node"], prefix, names, slices, restored, *assigned]}


def _signature() -> dict[str, Any]:
    inputs = {"x": {"name": "serve_x:0", "dtype": 1, "tensor_shape": shape_proto((None, 4))}}
    outputs = {"y": {"name": "y:0", "dtype": 1, "tensor_shape": shape_proto((None, 3))}}
    return {"serving_default": {"inputs": inputs, "outputs": outputs, "method_name": "tensorflow/serving/predict"}}


def _meta(graph: Mapping[str, Any], *, signed: bool = True, tracked: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {"meta_info_def": {"tags": ["serve"]}, "graph_def": graph}
    if signed:
        found["signature_def"] = _signature()
    if tracked:
        found["object_graph_def"] = {"nodes": [{"variable": {"dtype": 1, "name": name}} for name in ("kernel", "bias")]}
    return found


def _objects() -> NDArray[Any]:
    nodes = [
        {"attributes": [{"name": "VARIABLE_VALUE", "full_name": name, "checkpoint_key": KEY.format(name)}]}
        for name in ("kernel", "bias")
    ]
    return np.array(encode("TrackableObjectGraph", {"nodes": nodes}), object)


def saved_models() -> list[tuple[str, Files]]:
    """What is opened ("." is the folder), and the files: SavedModels and .meta files of the same dense layer."""
    plain = {"kernel": KERNEL, "bias": BIAS}
    by_object = {KEY.format(name): array for name, array in plain.items()}
    by_object["_CHECKPOINTABLE_OBJECT_GRAPH"] = _objects()
    folders = [
        (_meta(_graph()), checkpoint("variables/variables", plain)),
        (_meta(_graph()), checkpoint("variables/variables", plain, sliced=["kernel"])),
        (_meta(_graph(calls=True), tracked=True), checkpoint("variables/variables", by_object)),
        (_meta(_restoring()), checkpoint("variables/variables", plain)),
    ]
    found: list[tuple[str, Files]] = []
    for meta, files in folders:
        saved = {"saved_model_schema_version": 1, "meta_graphs": [meta]}
        found.append((".", {"saved_model.pb": encode("SavedModel", saved), **files}))
    for graph, sliced in ((_graph(), ()), (_restoring(), ("kernel",))):
        encoded = encode("MetaGraphDef", _meta(graph, signed=False))
        found.append(("model.meta", {"model.meta": encoded, **checkpoint("model", plain, sliced)}))
    return found


__all__ = ["INDEX", "append", "block_of", "checkpoint", "saved_models", "table_of", "table_parts"]
