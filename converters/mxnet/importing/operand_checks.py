"""What every node is checked for before its import function sees it: its number of inputs, attributes that fit.

Import functions take from here that the operator's inputs are there, that counts are positive, and that windows have a
kernel, strides, dilations and pads for the same axes.
"""

from __future__ import annotations

from graphir.converters.mxnet.importing.context import ImportNode
from graphir.converters.mxnet.schema.registry import operator_schema
from graphir.converters.mxnet.schema.signature import Signature
from graphir.safety.foreign_text import listing

_COUNTS = (
    "num_group", "num_groups", "num_filter", "num_hidden", "num_deformable_group", "num_layers", "state_size",
    "block_size", "heads", "output_dim", "num_outputs",
)  # fmt: skip
# The least number that each axis of a window may have.
_WINDOWS = {"stride": 1, "dilate": 1, "pad": 0, "adj": 0}
# Operators that do not read the numbers behind those of the kernel's axes. MXNet refuses them in the others.
_IGNORES_REST = frozenset(("Pooling",))


def check_node(node: ImportNode, names: Signature) -> None:
    """Refuse a node that MXNet would not run: another number of inputs, counts below 1, windows of unlike axes."""
    if names.takes is not None and len(node) != names.takes:
        shown = listing(names.inputs[: names.takes])
        node.refuse(f"it has {len(node)} inputs, {node.op} takes {names.takes} with its attributes: {shown}")
    for name in _COUNTS:
        count = node.attrs.get(name)
        if isinstance(count, int) and count < 1 and count != operator_schema(node.op).parameters[name].default:
            node.refuse(f"{name} is {count}, expected at least 1")
    kernel = node.attrs.get("kernel")
    if isinstance(kernel, tuple) and kernel and not node.attrs.get("global_pool"):
        _check_windows(node, kernel)


def _check_windows(node: ImportNode, kernel: tuple[int, ...]) -> None:
    if None in kernel or min(kernel) < 1:
        node.refuse(f"kernel is {list(kernel)}, expected sizes of at least 1")
    for name, least in _WINDOWS.items():
        numbers = node.attrs.get(name)
        if not isinstance(numbers, tuple) or not numbers:
            continue
        if node.op in _IGNORES_REST:
            numbers = numbers[: len(kernel)]
        if len(numbers) != len(kernel):
            node.refuse(f"{name} is {list(numbers)}, but kernel {list(kernel)} has {len(kernel)} axes")
        if None in numbers or min(numbers) < least:
            node.refuse(f"{name} is {list(numbers)}, expected numbers of at least {least}")
    target = node.attrs.get("target_shape")
    if isinstance(target, tuple) and target and len(target) != len(kernel):
        node.refuse(f"target_shape is {list(target)}, but kernel {list(kernel)} has {len(kernel)} axes")
