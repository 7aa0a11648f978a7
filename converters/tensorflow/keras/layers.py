"""Keras's layers as nodes of TensorFlow's, which the importer knows: what each layer computes at inference.

`LAYERS` holds the layers of all families; those that have no family of their own are here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphir.converters.kernel.refusals import Refusal
from graphir.converters.tensorflow.files.records import Endpoint
from graphir.converters.tensorflow.importing.context import Imported, ImportNode
from graphir.converters.tensorflow.keras import (
    activations,
    attention,
    merging,
    normalization,
    recurrent,
    spatial,
)
from graphir.converters.tensorflow.keras.activations import activated
from graphir.converters.tensorflow.keras.context import KerasValue, LayerCall, import_float
from graphir.graph import Value
from graphir.ops.elementwise import Cast
from graphir.ops.shape import Reshape, Shape
from graphir.ops.shape_parts import Concat
from graphir.ops.slicing import Slice
from graphir.types import DType

# Layers that see the last axis only, so that a TimeDistributed around them changes nothing.
ON_LAST_AXIS = frozenset({
    "Activation", "ActivityRegularization", "AlphaDropout", "Dense", "Dropout", "ELU", "GaussianDropout",
    "GaussianNoise", "Identity", "LeakyReLU", "ReLU", "Rescaling", "ThresholdedReLU",
})  # fmt: skip
# What looks at the masks of its values, so that a TimeDistributed around it hands on theirs.
MASK_READERS = frozenset({
    *recurrent.LAYERS, "Functional", "GlobalAveragePooling1D", "GroupNormalization", "Model", "Sequential", "Softmax",
    "TimeDistributed",
})  # fmt: skip


def dense(layer: LayerCall) -> Endpoint:
    """Return x W + b over the last axis."""
    operands = [layer.data, layer.weight(0, "kernel")]
    product = layer.add("MatMul", "product", operands, transpose_a=False, transpose_b=False)
    if layer.config.get("use_bias", True):
        product = layer.add("AddV2", "bias_add", [product, layer.weight(1, "bias")])
    return activated(layer, product)


def einsum_dense(layer: LayerCall) -> Endpoint:
    """Return a product by an equation, and a bias that broadcasts."""
    operands = [layer.data, layer.weight(0, "kernel")]
    product = layer.add("Einsum", "product", operands, equation=layer.config["equation"], N=2)
    if layer.config.get("bias_axes"):
        product = layer.add("AddV2", "bias_add", [product, layer.weight(1, "bias")])
    return activated(layer, product)


def embedding(layer: LayerCall) -> Endpoint:
    """Return rows of a table by their numbers; 0 is masked if the layer says so."""
    numbers = layer.apply(import_integers, "numbers", [layer.data])
    if layer.config.get("mask_zero"):
        layer.mask = layer.apply(_not_zero, "mask", [numbers])
    operands = [layer.weight(0, "embeddings"), numbers, layer.constant("axis", 0)]
    return layer.add("GatherV2", "rows", operands, batch_dims=0)


def import_integers(node: ImportNode) -> Imported:
    """Return a value as integers: floats as int32."""
    value = node.input(0)
    return node.emit(Cast(DType.INT32), value) if value.dtype is not None and value.dtype.is_float else value


def _not_zero(node: ImportNode) -> Imported:
    from graphir.ops.elementwise import Equal, Not

    value = node.input(0)
    return node.emit(Not(), node.step(Equal(), value, node.scalar_like(value, 0), suffix="zero"))


def masking(layer: LayerCall) -> Endpoint:
    """Steps whose elements are all `mask_value` are masked, and 0."""
    masked = layer.constant("value", layer.config.get("mask_value", 0.0), np.float32)
    other = layer.add("NotEqual", "other", [layer.data, masked])
    last = layer.constant("last", [-1])
    layer.mask = layer.add("Any", "mask", [other, last], keep_dims=False)
    kept = layer.add("Any", "kept", [other, last], keep_dims=True)
    return layer.add("Mul", "masked", [layer.data, layer.add("Cast", "ones", [kept], DstT=layer.dtype)])


def time_distributed(layer: LayerCall) -> Endpoint:
    """Call a layer or a model on each step of (N, steps, ...): the steps are taken for samples."""
    entry = layer.config["layer"]
    stored = layer.stored.part("layer")
    layer.mask = layer.stated_mask()
    if entry["class_name"] in ON_LAST_AXIS:
        value = layer.call(entry, "layer", stored, [KerasValue(layer.data)])[0].value
        return layer.add("Identity", "steps", [value]) if value == layer.data else value
    data = layer.data
    folded = KerasValue(layer.apply(_import_fold, "samples", [data]))
    if layer.mask is not None and entry["class_name"] in MASK_READERS:
        folded = KerasValue(folded.value, layer.apply(_import_fold_mask, "sample_masks", [layer.mask]))
    results = layer.call(entry, "layer", stored, [folded])
    return layer.apply(_import_unfold, "steps", [results[0].value, data])


def _import_fold(node: ImportNode) -> Imported:
    value = node.input(0)
    rest = node.sizes_if_known(value, range(2, node.rank(value)))
    if rest is not None:
        return node.emit(Reshape(), value, node.vector([-1, *rest]))
    shape = node.step(Shape(), value, suffix="shape")
    return node.emit(Reshape(), value, node.step(Concat(0), node.vector([-1]), _sizes(node, shape, 2), suffix="sizes"))


def _import_unfold(node: ImportNode) -> Imported:
    value, whole = node.inputs
    rest = node.sizes_if_known(value, range(1, node.rank(value)))
    steps = node.sizes_if_known(whole, (1,))
    if rest is not None and steps is not None:
        return node.emit(Reshape(), value, node.vector([-1, *steps, *rest]))
    first = node.step(Slice(), node.step(Shape(), whole), node.vector([0]), node.vector([2]), suffix="batch")
    last = node.vector(rest) if rest is not None else _sizes(node, node.step(Shape(), value), 1)
    return node.emit(Reshape(), value, node.step(Concat(0), first, last, suffix="sizes"))


def _import_fold_mask(node: ImportNode) -> Imported:
    """Return the masks of the samples, of a mask (N, steps, steps of a sample)."""
    if node.rank(node.input(0)) < 3:
        node.refuse("a layer that looks at masks on each step of values whose mask hides whole steps")
    return _import_fold(node)


def _sizes(node: ImportNode, shape: Value, first: int) -> Value:
    return node.step(Slice(), shape, node.vector([first]), node.vector([64]), suffix="rest")


def wrapped(layer: LayerCall) -> list[Endpoint]:
    """Call the layer inside a wrapper that acts in training only."""
    results = layer.call(layer.config["layer"], "layer", layer.stored.part("layer"), layer.operands)
    layer.mask = results[0].mask
    return [result.value for result in results]


def _batch_size(layer: LayerCall) -> Endpoint:
    shape = layer.add("Shape", "sizes", [layer.data], out_type=DType.INT32)
    bounds = [layer.constant(name, [number]) for name, number in (("first", 0), ("second", 1), ("step", 1))]
    return layer.add(
        "StridedSlice", "batch", [shape, *bounds], begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0,
        shrink_axis_mask=1,
    )  # fmt: skip


def _reshape(layer: LayerCall, data: Endpoint, sizes: Sequence[int]) -> Endpoint:
    parts = [_batch_size(layer), *(layer.constant(f"size_{index}", size) for index, size in enumerate(sizes))]
    return layer.add("Reshape", "reshape", [data, layer.add("Pack", "shape", parts, axis=0, N=len(parts))])


def flatten(layer: LayerCall) -> Endpoint:
    """Return everything behind the batch in one axis; channels that come first are moved behind the others before."""
    data = layer.data
    if layer.channels_first:
        data = layer.apply(_channels_last, "channels_last", [data])
    return _reshape(layer, data, [-1])


def _channels_last(node: ImportNode) -> Imported:
    from graphir.ops.shape import Transpose

    value = node.input(0)
    rank = node.rank(value)
    return value if rank < 3 else node.emit(Transpose((0, *range(2, rank), 1)), value)


def repeat_vector(layer: LayerCall) -> Endpoint:
    """Return (N, C) as (N, n, C)."""
    wide = layer.add("ExpandDims", "expanded", [layer.data, layer.constant("axis", 1)])
    return layer.add("Tile", "repeated", [wide, layer.constant("counts", [1, layer.config["n"], 1])])


def permute(layer: LayerCall) -> Endpoint:
    """Return the data with another order of the axes behind the batch."""
    return layer.add("Transpose", "permuted", [layer.data, layer.constant("order", [0, *layer.config["dims"]])])


def rescaling(layer: LayerCall) -> Endpoint:
    """Return x times a scale and an offset."""
    data = layer.apply(import_float, "float", [layer.data])
    scaled = layer.add("Mul", "scaled", [data, layer.constant("scale", layer.config["scale"], np.float32)])
    offset = layer.config.get("offset", 0)
    if offset == 0:
        return scaled
    return layer.add("AddV2", "shifted", [scaled, layer.constant("offset", offset, np.float32)])


def discretization(layer: LayerCall) -> Endpoint:
    """Return the number of the bin that an element falls into."""
    if layer.config.get("output_mode", "int") != "int" or layer.config.get("bin_boundaries") is None:
        raise Refusal("only output_mode 'int' with stated bin_boundaries is read")
    boundaries = tuple(float(edge) for edge in layer.config["bin_boundaries"])
    bins = layer.add("Bucketize", "bins", [layer.data], boundaries=boundaries)
    return bins if layer.keras >= 3 else layer.add("Cast", "bins_int64", [bins], DstT=DType.INT64)


def layer_scale(layer: LayerCall) -> Endpoint:
    """Return x times a weight for each channel, of ConvNeXt in keras.applications."""
    return layer.add("Mul", "scaled", [layer.data, layer.weight(0, "gamma")])


def custom_scale(layer: LayerCall) -> Endpoint:
    """Return the first value plus a part of the second, as InceptionResNetV2 in keras.applications has it."""
    operands = layer.inputs
    if len(operands) != 2:
        raise Refusal(f"{len(operands)} operands, expected 2")
    part = layer.add("Mul", "part", [operands[1], layer.constant("scale", layer.config["scale"], np.float32)])
    return layer.add("AddV2", "sum", [operands[0], part])


def same(layer: LayerCall) -> Endpoint:
    """Return the data: the layer does nothing at inference."""
    return layer.data


LAYERS: dict[str, Callable[[LayerCall], Any]] = {
    **activations.LAYERS,
    **attention.LAYERS,
    **merging.LAYERS,
    **normalization.LAYERS,
    **recurrent.LAYERS,
    **spatial.LAYERS,
    "ActivityRegularization": same,
    "AlphaDropout": same,
    "CustomScaleLayer": custom_scale,
    "Dense": dense,
    "Discretization": discretization,
    "Dropout": same,
    "EinsumDense": einsum_dense,
    "Embedding": embedding,
    "Flatten": flatten,
    "GaussianDropout": same,
    "GaussianNoise": same,
    "Identity": same,
    "LayerScale": layer_scale,
    "Masking": masking,
    "Permute": permute,
    "RepeatVector": repeat_vector,
    "Rescaling": rescaling,
    "Reshape": lambda layer: _reshape(layer, layer.data, layer.config["target_shape"]),
    "SpatialDropout1D": same,
    "SpatialDropout2D": same,
    "SpatialDropout3D": same,
    "SpectralNormalization": wrapped,
    "TimeDistributed": time_distributed,
    **{
        f"Random{name}": same
        for name in ("Brightness", "Contrast", "Flip", "Rotation", "Translation", "Zoom")
    },
}
RANDOM = frozenset({
    "AlphaDropout", "BatchNormalization", "Dropout", "GaussianDropout", "GaussianNoise", "SpatialDropout1D",
    "SpatialDropout2D", "SpatialDropout3D", *(name for name in LAYERS if name.startswith("Random")),
})  # fmt: skip
# Layers that hand on the mask of what they are given; those that make one themselves say so in `Layer.mask`.
PASS_MASKS = frozenset({
    "Activation", "ActivityRegularization", "AlphaDropout", "BatchNormalization", "Dense", "Dropout", "ELU",
    "GaussianDropout", "GaussianNoise", "GroupNormalization", "GroupQueryAttention", "Identity",
    "LayerNormalization", "LeakyReLU", "MultiHeadAttention", "Normalization", "PReLU", "ReLU", "Rescaling",
    "Softmax", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D", "ThresholdedReLU", "UnitNormalization",
})  # fmt: skip
_STRINGS = "it works on strings and tables that the file keeps apart; give the model what comes behind it"
REFUSED = {
    "Lambda": "it holds Python code, which is not run: write it with Keras's layers or operations, or use model.export",
    **dict.fromkeys(("Hashing", "HashedCrossing", "IntegerLookup", "StringLookup", "TextVectorization"), _STRINGS),
    **dict.fromkeys(("TFSMLayer", "TorchModuleWrapper", "JaxLayer", "FlaxLayer"), "it holds another framework's code"),
}
