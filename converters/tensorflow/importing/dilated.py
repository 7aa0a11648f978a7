"""Dilated convolutions and poolings that were written as SpaceToBatchND, a plain one, BatchToSpaceND.

That is how TensorFlow 1 writes every dilated convolution, and `tf.nn.pool` every dilated pooling. Padding by p, taking
every d-th element apart, a VALID convolution, putting the parts together again and cropping by c is a convolution with
dilation d that pads by p - c: an element cut off from the result is one less that is padded. The same holds for the
windows of a pooling, which see the zeros. The operator's node then has two more inputs, the paddings and the crops,
which are computed from sizes and known only when it is imported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from graphir.converters.kernel.refusals import NeedsShape
from graphir.converters.tensorflow.files.records import Endpoint, TFNode
from graphir.converters.tensorflow.importing.context import ImportNode
from graphir.decisions import DecisionKind
from graphir.tensor import Tensor

# How many spatial axes the operators in the middle have.
CONVOLUTIONS = {"Conv2D": 2, "DepthwiseConv2dNative": 2, "Conv3D": 3}
POOLINGS = {"AvgPool": 2, "AvgPool3D": 3, "MaxPool": 2, "MaxPool3D": 3}
SPATIAL = CONVOLUTIONS | POOLINGS
# Which spatial axes the rows of the paddings and crops are for.
AXES = "graphir.dilated_axes"


def fuse_dilated(nodes: Mapping[str, TFNode]) -> dict[str, TFNode]:
    """Return the nodes, with one operator in place of each such group; its BatchToSpaceND becomes an Identity of it."""
    new_nodes = dict(nodes)
    if not any(node.op == "BatchToSpaceND" for node in nodes.values()):
        return new_nodes
    uses = Counter(endpoint for node in nodes.values() for endpoint in node.inputs)
    for node in nodes.values():
        if node.op == "BatchToSpaceND" and len(node.inputs) == 3:
            _fuse(node, new_nodes, uses)
    return new_nodes


def _fuse(last: TFNode, nodes: dict[str, TFNode], uses: Mapping[Endpoint, int]) -> None:
    squeeze = _find_producer(last, nodes, uses, "Squeeze")
    convolution = _find_producer(squeeze or last, nodes, uses, *SPATIAL)
    if convolution is None or not _is_plain(convolution):
        return
    expand = _find_producer(convolution, nodes, uses, "ExpandDims")
    first = _find_producer(expand or convolution, nodes, uses, "SpaceToBatchND")
    if first is None or len(first.inputs) != 3 or (squeeze is None) != (expand is None):
        return
    blocks, last_blocks = (_numbers(nodes, node.inputs[1]) for node in (first, last))
    axes = _axes(convolution, expand, nodes)
    if blocks is None or blocks != last_blocks or axes is None or len(axes) != len(blocks):
        return
    spatial = SPATIAL[convolution.op]
    dilations = [1] * spatial
    for axis, block in zip(axes, blocks, strict=True):
        dilations[axis] = block
    data = first.inputs[0]
    if expand is not None:
        nodes[expand.name] = replace(expand, inputs=(data, *expand.inputs[1:]))
        data = Endpoint(expand.name)
    nodes[convolution.name] = replace(
        convolution,
        inputs=(data, *convolution.inputs[1:], first.inputs[2], last.inputs[2]),
        attrs={**convolution.attrs, "dilations": (1, *dilations, 1), AXES: axes},
    )
    nodes[last.name] = replace(last, op="Identity", inputs=last.inputs[:1], attrs={"T": last.attrs.get("T")})


def _find_producer(node: TFNode, nodes: Mapping[str, TFNode], uses: Mapping[Endpoint, int], *ops: str) -> TFNode | None:
    """Return the node of one of these operators that gives the first input, if nothing else uses that."""
    source = node.inputs[0]
    producer = nodes.get(source.node)
    return producer if producer is not None and producer.op in ops and uses.get(source) == 1 else None


def _is_plain(node: TFNode) -> bool:
    """Return whether an operator has no padding, stride or dilation of its own."""
    steps = (*node.attrs.get("strides", ()), *node.attrs.get("dilations", ()))
    count = 2 if node.op in CONVOLUTIONS else 1
    return len(node.inputs) == count and node.attrs.get("padding") == "VALID" and all(step == 1 for step in steps)


def _axes(convolution: TFNode, expand: TFNode | None, nodes: Mapping[str, TFNode]) -> tuple[int, ...] | None:
    """Return the spatial axes that were taken apart: the first after the batch, without one that was added in
    between."""
    spatial = SPATIAL[convolution.op]
    if str(convolution.attrs.get("data_format", "")).startswith("NC"):
        return None  # SpaceToBatchND takes apart what stands behind the batch, which are the channels then
    if expand is None:
        return tuple(range(spatial))
    added = _numbers(nodes, expand.inputs[1])
    if added is None or len(added) != 1:
        return None
    new_axis = added[0] - 1 if added[0] >= 0 else added[0] + spatial + 1
    return tuple(axis for axis in range(spatial) if axis != new_axis) if 0 <= new_axis < spatial else None


def _numbers(nodes: Mapping[str, TFNode], endpoint: Endpoint) -> tuple[int, ...] | None:
    """Return the elements of a constant."""
    node = nodes.get(endpoint.node)
    while node is not None and node.op == "Identity":
        node = nodes.get(node.inputs[0].node)
    value = None if node is None else node.attrs.get("value")
    return tuple(value.numpy().reshape(-1).tolist()) if isinstance(value, Tensor) else None


def paddings_left(node: ImportNode, spatial: int) -> tuple[tuple[int, int], ...] | None:
    """Return what a fused node pads, before and after on each spatial axis: its paddings without its crops, which are
    its last two inputs. None for a node that is not fused."""
    if AXES not in node.attrs:
        return None
    axes: Sequence[int] = node.attrs[AXES]
    knowns = [node.input(slot).known for slot in (-2, -1)]
    padded, cropped = (() if known is None else known.elements for known in knowns)
    if None not in knowns and len(padded) != len(cropped):
        node.refuse(f"{len(padded)} numbers say what SpaceToBatchND pads, {len(cropped)} what BatchToSpaceND crops")
    differences: list[Any] = [before - after for before, after in zip(padded, cropped, strict=False)]
    if len(differences) != 2 * len(axes) or not all(isinstance(number, int) for number in differences):
        raise NeedsShape("a dilated window written as SpaceToBatchND and BatchToSpaceND needs its input's sizes")
    if any(number < 0 for number in differences):
        node.refuse("BatchToSpaceND crops more than SpaceToBatchND pads")
    pads = [(0, 0)] * spatial
    for index, axis in enumerate(axes):
        pads[axis] = (differences[2 * index], differences[2 * index + 1])
    node.decide(DecisionKind.DILATION, f"SpaceToBatchND, {node.record.op} and BatchToSpaceND are one with dilations")
    return tuple(pads)
