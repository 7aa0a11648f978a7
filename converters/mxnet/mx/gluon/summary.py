"""The table of a block's layers that `Block.summary` prints, in MXNet's layout."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

from graphir.converters.mxnet.mx.ndarray import NDArray

if TYPE_CHECKING:
    from graphir.converters.mxnet.mx.gluon.block import Block

WIDTH = 80


class _Row(NamedTuple):
    """A call of a layer: its output's shapes and its elements; `trainable` and `shared` are parts of `elements`."""

    layer: str
    shape: str
    elements: int
    trainable: int
    shared: int


def summary_text(block: Block, inputs: Sequence[Any]) -> str:
    """Return the layers in the order in which they end when `inputs` are computed, and totals of their parameters.

    Raises AssertionError for a block that is hybridized, which has no layers when it computes.
    """
    rows = [_Row("Input", _shapes(tuple(inputs)), 0, 0, 0)]
    seen: set[int] = set()

    def note(called: Block, _: Any, outputs: Any) -> None:
        held = [(parameter, parameter.data().size) for parameter in called.params.values()]
        shared = sum(size for parameter, size in held if id(parameter) in seen)
        seen.update(id(parameter) for parameter, _ in held)
        trainable = sum(size for parameter, size in held if parameter.grad_req != "null")
        layer = f"{type(called).__name__}-{len(rows)}"
        rows.append(_Row(layer, _shapes(outputs), sum(size for _, size in held), trainable, shared))

    layers: list[Block] = []
    block.apply(layers.append)
    for layer in layers:
        if getattr(layer, "_active", False):
            raise AssertionError(f"{layer.name} is hybridized: its layers are not called one by one")
    noted = [layer for layer in layers if layer.is_layer]
    with ExitStack() as hooks:
        for layer in noted:
            hooks.enter_context(layer.register_forward_hook(note))
        block(*inputs)
    return _table(rows)


def _table(rows: Sequence[_Row]) -> str:
    total = sum(row.elements for row in rows)
    trainable = sum(row.trainable for row in rows)
    shared = sum(row.shared for row in rows)
    lines = ["-" * WIDTH, _line("Layer (type)", "Output Shape", "Param #"), "=" * WIDTH]
    lines += [_line(row.layer, row.shape, row.elements) for row in rows]
    lines += [
        "=" * WIDTH,
        "Parameters in forward computation graph, duplicate included",
        f"   Total params: {total}",
        f"   Trainable params: {trainable}",
        f"   Non-trainable params: {total - trainable}",
        f"Shared params in forward computation graph: {shared}",
        f"Unique parameters in model: {total - shared}",
        "-" * WIDTH,
    ]
    return "\n".join(lines)


def _line(layer: str, shape: str, elements: object) -> str:
    return f"{layer:>20}  {shape:>42} {elements!s:>15}"


def _shapes(given: Any) -> str:
    """Shapes of arrays in lists and tuples of any depth, all of which are shown as lists."""
    found = _shape(given)
    return str(found)[1:-1] if isinstance(found, list) else str(found)


def _shape(given: Any) -> Any:
    if isinstance(given, list | tuple):
        return [_shape(part) for part in given]
    return given.shape if isinstance(given, NDArray) else given


__all__ = ["summary_text"]
