"""What the values of an .onnx file take, for the sizes of its inputs, without its weights."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

from graphir.converters.onnx.files.stripped import stripped_file

# What a text may take; nothing says how long texts will be.
TEXT_BYTES = 64


def value_sizes(path: str | os.PathLike[str], shapes: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """Return the bytes of the values that an .onnx file computes from inputs of these shapes, by onnx's shape
    inference; those whose sizes it cannot tell are left out, and all where it fails. Weights are not read."""
    import onnx
    from onnx import shape_inference

    model = onnx.ModelProto()
    model.ParseFromString(stripped_file(path).message)
    del model.graph.value_info[:]
    for item in model.graph.input:
        if item.name in shapes and item.type.WhichOneof("value") == "tensor_type":
            item.type.tensor_type.ClearField("shape")
            for size in shapes[item.name]:
                item.type.tensor_type.shape.dim.add(dim_value=size)
    for item in model.graph.output:
        if item.type.WhichOneof("value") == "tensor_type":
            item.type.tensor_type.ClearField("shape")
    try:
        typed = shape_inference.infer_shapes(model, data_prop=True)
    except shape_inference.InferenceError:
        return {}
    known = {item.name: _bytes_of(item.type) for item in (*typed.graph.value_info, *typed.graph.output)}
    return {name: size for name, size in known.items() if size is not None}


def _bytes_of(type_: Any) -> int | None:
    """Return the bytes of a tensor of this type, None where a size is open or it is no tensor."""
    from onnx import TensorProto, helper

    stated = type_.tensor_type
    if type_.WhichOneof("value") != "tensor_type" or not stated.HasField("shape"):
        return None
    sizes = [int(dim.dim_value) for dim in stated.shape.dim if dim.HasField("dim_value")]
    if len(sizes) != len(stated.shape.dim) or not stated.elem_type:
        return None
    if stated.elem_type == TensorProto.STRING:
        return math.prod(sizes) * TEXT_BYTES
    return int(math.prod(sizes) * helper.tensor_dtype_to_np_dtype(stated.elem_type).itemsize)


def weight_bytes(path: str | os.PathLike[str]) -> int:
    """Return the bytes of the weights of an .onnx file's main graph, wherever they lie; those of texts are not
    counted."""
    import onnx
    from onnx import TensorProto, helper

    model = onnx.ModelProto()
    model.ParseFromString(stripped_file(path).message)
    known = set(TensorProto.DataType.values()) - {TensorProto.UNDEFINED, TensorProto.STRING}
    return sum(
        math.prod(tensor.dims) * helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
        for tensor in model.graph.initializer
        if tensor.data_type in known
    )
