"""What a node of oneDNN fuses, its weights, and how a record inside it is imported over values of the graph.

The weights of oneDNN's fused quantized layers: float32 in the file, made integers as MXNet makes them.

The batch normalization goes into weight and bias first. The factor from real to quantized numbers is one a filter where
the result's range is calibrated, else one for all; it is small enough for the bias to be at most half of an int32.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from graphir.converters.mxnet.files.records import VARIABLE, NNVMNode
from graphir.converters.mxnet.importing.context import ImportNode
from graphir.converters.mxnet.importing.ranges import SPANS, Known, apply, cut, held, known, single
from graphir.converters.mxnet.importing.ranges import stored as stored_value
from graphir.converters.mxnet.schema.operators import typed_attributes
from graphir.graph import Value
from graphir.ops.elementwise import Abs, Add, Clip, Div, Max, Min, Mul, Round, Sqrt, Sub
from graphir.ops.reduction import ReduceMax
from graphir.ops.shape import Reshape
from graphir.structure.record import record
from graphir.types import UNKNOWN, DType

SUMS = ("elemwise_add", "_npi_add")


def inner(node: ImportNode, record: NNVMNode, *values: Value) -> Value:
    """Return a record inside the node, imported over these operands: its result. Raises what its import function
    raises."""
    from graphir.converters.mxnet.importing.ops import import_table

    outcome = view(node, record, *values)
    result = import_table()[record.op](outcome)
    return result if isinstance(result, Value) else result[0]


def view(node: ImportNode, record: NNVMNode, *values: Value) -> ImportNode:
    """Return a record inside the node as a node of its own."""
    result = ImportNode(node.importer, record, typed_attributes(record), [], [f"{node.name}_{record.name}"])
    result.operands = [lambda value=value: value for value in values]  # type: ignore[misc]
    result.name = f"{node.name}_{record.name}"
    return result


class FusedRecords:
    """The records inside: the layer, a batch normalization, activations before and behind a sum. Places of operands.

    `operands` is how many the layer has, `addend` the place of what is added, `first_range` that of the first end of a
    range.
    """

    def __init__(self, node: ImportNode, layer: str) -> None:
        attrs = node.attrs
        if len(node.record.subgraphs) != 1:
            node.refuse(f"it has {len(node.record.subgraphs)} symbols inside, expected one")
        self.normalization: NNVMNode | None = None
        self.before: NNVMNode | None = None
        self.behind: NNVMNode | None = None
        layers: list[NNVMNode] = []
        early = bool(attrs.get("with_act") or attrs.get("with_eltwise"))
        for inner in node.record.subgraphs[0].nodes:
            if inner.op == layer:
                layers.append(inner)
            elif inner.op == "BatchNorm":
                self.normalization = inner
            elif inner.op not in (*SUMS, VARIABLE):
                self._take(node, inner, early)
        self._check_activations(node, early)
        if len(layers) != 1:
            node.refuse(f"the symbol inside has {len(layers)} {layer}, expected one")
        self.layer = layers[0]
        self.operands = 2 if typed_attributes(self.layer)["no_bias"] else 3
        states = 4 if attrs.get("with_bn") else 0
        if bool(states) != (self.normalization is not None):
            node.refuse("with_bn does not say what the symbol inside has")
        behind = self.operands + states
        self.addend = behind if attrs.get("with_sum") else None
        self.first_range = behind + (self.addend is not None)

    def _take(self, node: ImportNode, record: NNVMNode, early: bool) -> None:
        if early and self.before is None:
            self.before = record
        elif self.behind is None:
            self.behind = record
        else:
            node.refuse(f"the symbol inside has {record.op} ({record.name}), which MXNet fuses nowhere")

    def _check_activations(self, node: ImportNode, early: bool) -> None:
        """Refuse attributes that say other than the symbol inside, since MXNet goes by them."""
        for is_stated, activation, where in (
            (early, self.before, "behind the layer"),
            (bool(node.attrs.get("with_postsum_act")), self.behind, "behind the sum"),
        ):
            if is_stated != (activation is not None):
                article = "an" if is_stated else "no"
                node.refuse(f"its attributes state {article} activation {where}, other than the symbol inside")

    @property
    def last(self) -> NNVMNode | None:
        """The activation that nothing follows."""
        return self.behind if self.behind is not None or self.addend is not None else self.before

    @staticmethod
    def is_relu(record: NNVMNode) -> bool:
        """Return whether a record keeps the positive numbers."""
        return record.op == "Activation" and typed_attributes(record)["act_type"] == "relu"

    def is_linear(self, record: NNVMNode) -> bool:
        """Return whether a factor may be taken before it or behind it."""
        leaky = record.op == "LeakyReLU" and typed_attributes(record)["act_type"] == "leaky"
        return leaky or self.is_relu(record)

    @staticmethod
    def is_unsigned(record: NNVMNode | None) -> bool:
        """Return whether MXNet takes a dense layer's result with this activation for uint8."""
        kind = None if record is None else typed_attributes(record).get("act_type")
        if record is None or record.op == "Activation":
            return kind in ("relu", "sigmoid", "softrelu")
        return kind == "leaky" if record.op == "LeakyReLU" else True

    def is_positive(self, record: NNVMNode | None) -> bool:
        """Return whether MXNet takes a record's results for uint8."""
        return record is not None and (record.op == "clip" or self.is_relu(record))

    def with_bias(self, bias: bool) -> NNVMNode:
        """Return the layer's record with or without a bias."""
        return replace(self.layer, attrs=self.layer.attrs | {"no_bias": str(not bias)})

    def view(self, node: ImportNode) -> ImportNode:
        """Return the layer as a node of its own, for what its attributes say."""
        return view(node, self.layer)


HALF_OF_INT32 = 1073741824.0
# A filter of zeros has no extent: any factor gives zeros.
LARGEST_FACTOR = 2.0**120


@record
class QuantizedWeights:
    """The integers; one step a filter, or one for all; the bias as int32; the reach and the factor of one for all."""

    integers: Value
    step: Known
    bias: Known | None
    reach: Known
    factor: Known


def layer_weights(node: ImportNode, fused: FusedRecords, data_factor: Known, *, whole: bool) -> QuantizedWeights:
    """Return the weights for data of this factor; with `whole` one factor for all filters."""
    attrs: Any = typed_attributes(fused.layer)
    filters = attrs.get("num_filter") or attrs.get("num_hidden")
    shape = (filters, UNKNOWN, *(attrs.get("kernel") or ()))
    stored: Known = known(node.shaped(1, shape, stated=shape))
    bias = None if fused.operands < 3 else known(node.shaped(2, (filters,), stated=(filters,)))
    axes = len(shape) - 1
    weight = stored
    if fused.normalization is not None:
        slope, bias = _fold_normalization(node, fused, bias)
        weight = apply(node, Mul(), stored, _along(node, slope, axes))
    reach = _reach(node, weight, axes, whole)
    factor = apply(node, Min(), apply(node, Div(), single(SPANS[DType.INT8]), reach), single(LARGEST_FACTOR))
    if bias is not None and not whole:
        size = apply(node, Max(), apply(node, Abs(), bias), single(2.0**-100))
        limit = apply(node, Div(), apply(node, Div(), single(HALF_OF_INT32), size), data_factor)
        factor = apply(node, Min(), factor, limit)
    used = factor if whole else _of_groups(node, factor, attrs.get("num_group") or 1, filters)
    integers = _bytes(node, apply(node, Mul(), weight, _along(node, used, 0 if whole else axes)))
    integers = stored_value(node, integers, DType.INT8, node.input(1))
    if integers.producer is None:
        states = 4 if fused.normalization is not None else 0
        made_of = (node.input(slot) for slot in range(1, fused.operands + states))
        integers.sources = tuple(dict.fromkeys(name for value in made_of for name in value.sources))
    if bias is not None:
        bias = cut(node, apply(node, Mul(), bias, apply(node, Mul(), factor, data_factor)), rounded=True)
    step = apply(node, Div(), single(1.0), factor)
    return QuantizedWeights(integers, step, bias, reach, apply(node, Mul(), factor, data_factor))


def _fold_normalization(node: ImportNode, fused: FusedRecords, bias: Known | None) -> tuple[Known, Known]:
    """Return the factor that a batch normalization multiplies the weight by, and the bias with it."""
    assert fused.normalization is not None
    attrs: Any = typed_attributes(fused.normalization)
    gamma, beta, mean, var = (known(node.input(fused.operands + slot)) for slot in range(4))
    if isinstance(var, Value):
        deviation = apply(node, Sqrt(), apply(node, Add(), var, single(attrs["eps"])))
    else:
        deviation = np.sqrt(var.astype(np.float64) + attrs["eps"])
    scale = single(1.0) if attrs["fix_gamma"] else gamma
    if isinstance(scale, Value) or isinstance(deviation, Value):
        slope = apply(node, Div(), scale, deviation)
    else:
        slope = np.asarray(scale / deviation, np.float32)
    inside = mean if bias is None else apply(node, Sub(), mean, bias)
    return slope, apply(node, Sub(), beta, apply(node, Mul(), slope, inside))


def _reach(node: ImportNode, weight: Known, axes: int, whole: bool) -> Known:
    """Return the largest magnitude of each filter, or of all."""
    if not isinstance(weight, Value):
        return np.asarray(np.abs(weight).max(axis=None if whole else tuple(range(1, axes + 1))))
    sizes = node.step(Abs(), weight, suffix="magnitudes")
    if whole:
        return node.step(ReduceMax(keepdims=False), sizes, suffix="reach")
    return node.step(ReduceMax(keepdims=False), sizes, node.vector(range(1, axes + 1)), suffix="reach")


def _of_groups(node: ImportNode, factor: Known, groups: int, filters: int) -> Known:
    """Return the factors that MXNet multiplies the filters by: those of groups are taken from the first filters in
    turn."""
    if groups in (1, filters) or isinstance(factor, Value):
        if isinstance(factor, Value) and groups not in (1, filters):
            node.refuse("the weights of a convolution in groups must be known to be quantized")
        return factor
    return np.repeat(np.broadcast_to(factor, (filters,))[:groups], filters // groups)


def _along(node: ImportNode, vector: Known, behind: int) -> Known:
    """Return a vector along an axis with so many behind it."""
    if not behind:
        return vector
    if isinstance(vector, Value):
        return node.step(Reshape(), vector, node.vector([-1, *(1,) * behind]), suffix="filters")
    return vector.reshape(-1, *(1,) * behind)


def _bytes(node: ImportNode, numbers: Known) -> Known:
    """Rounded to the nearest even int8, limited."""
    if not isinstance(numbers, Value):
        return np.clip(np.rint(numbers), -128, 127).astype(np.int8)
    limits = (held(node, single(-128.0)), held(node, single(127.0)))
    return node.cast(node.step(Clip(), node.step(Round(), numbers), *limits), DType.INT8, suffix="int8")
