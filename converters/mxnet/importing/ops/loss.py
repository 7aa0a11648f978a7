"""Heads of training symbols: what stays of them at inference. Labels are not touched, so they become no inputs."""

from __future__ import annotations

from graphir.converters.kernel.refusals import NeedsShape
from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.activation import Sigmoid, Softmax
from graphir.ops.elementwise import Log, Max, Neg
from graphir.ops.indexing import GatherElements
from graphir.ops.reduction import ReduceSum
from graphir.ops.shape import Reshape, Shape, Unsqueeze
from graphir.types import Dim, DType


def import_softmax_output(node: ImportNode) -> Value:
    """SoftmaxOutput: along axis 1 (multi_output), the last axis (preserve_shape), else over each flattened sample."""
    attrs = node.attrs
    data = node.input(0)
    if attrs["multi_output"]:
        return node.emit(Softmax(axis=1), data)
    if attrs["preserve_shape"]:
        return node.emit(Softmax(axis=-1), data)
    sizes = _sizes(node, data)
    if sizes is not None and len(sizes) == 2:
        return node.emit(Softmax(axis=-1), data)
    if sizes is not None and len(sizes) > 2 and all(dim == 1 for dim in sizes[2:]):
        return node.emit(Softmax(axis=1), data)
    node.decide(
        DecisionKind.SOFTMAX_AXIS,
        f"over each flattened sample of {data.type}, as MXNet documents it; its oneDNN builds took the last axis",
    )
    flat = node.step(Reshape(), data, node.vector([0, -1]), suffix="flat")
    target = None if sizes is None else [0, *(dim if isinstance(dim, int) else -1 for dim in sizes[1:])]
    whole = node.step(Shape(), data) if target is None or target.count(-1) > 1 else node.vector(target)
    return node.emit(Reshape(), node.step(Softmax(axis=-1), flat), whole)


def _sizes(node: ImportNode, data: Value) -> tuple[Dim, ...] | None:
    try:
        return node.shape(data)
    except NeedsShape:
        return None


def import_prediction(node: ImportNode) -> Value:
    """Heads that hand on what they are given."""
    return node.input(0)


def import_softmax_cross_entropy(node: ImportNode) -> Value:
    """- sum over samples of log max(softmax(x)[label], 1e-8); the one head that reads its label."""
    data = node.input(0)
    rows = node.step(Unsqueeze(), node.cast(node.input(1), DType.INT64, suffix="label"), node.vector([1]))
    chosen = node.step(GatherElements(axis=1), node.step(Softmax(axis=1), data), rows, suffix="chosen")
    logarithm = node.step(Log(), node.step(Max(), chosen, node.scalar_like(data, 1e-8)))
    total = node.step(ReduceSum(keepdims=False), logarithm, node.vector([0]), suffix="sum")
    return node.emit(Neg(), total)


IMPORTS: dict[str, ImportFunction] = {
    "LinearRegressionOutput": import_prediction,
    "LogisticRegressionOutput": lambda node: node.emit(Sigmoid(), node.input(0)),
    "MAERegressionOutput": import_prediction,
    "MakeLoss": import_prediction,
    "SVMOutput": import_prediction,
    "SoftmaxOutput": import_softmax_output,
    "make_loss": import_prediction,
    "softmax_cross_entropy": import_softmax_cross_entropy,
}
