"""Constants and inputs."""

from __future__ import annotations

from graphir.converters.tensorflow.context import ImportFunction, ImportNode
from graphir.graph import Value
from graphir.tensor import Tensor
from graphir.types import DType, Shape, TensorType, Unknown, symbol

# Until this version of the graph format a Placeholder of rank 0 could as well be one of unknown rank.
LAST_UNCERTAIN_PRODUCER = 21


def import_const(node: ImportNode) -> Value:
    """A constant, its elements where they lie."""
    value = node.attrs["value"]
    if not isinstance(value, Tensor):
        node.refuse(f"its value is {value!r}, expected a tensor")
    return node.parameter(value)


def import_placeholder(node: ImportNode) -> Value:
    """An input of the graph. What the user gives wins over what the file states; sizes left open get names."""
    shape: Shape | None = node.attrs.get("shape")
    if shape == () and node.producer <= LAST_UNCERTAIN_PRODUCER:
        shape = None
    if node.given_shape is not None:
        _compare(node, shape)
        shape = node.given_shape
    dtype = node.given_dtype or node.attrs["dtype"]
    if not isinstance(dtype, DType):
        node.refuse(f"an input of type {dtype}")
    if shape is not None:
        shape = tuple(
            symbol(_axis_name(node.name, axis)) if isinstance(dim, Unknown) else dim for axis, dim in enumerate(shape)
        )
    return node.new_input(TensorType(dtype, shape))


def _compare(node: ImportNode, stated: Shape | None) -> None:
    given = node.given_shape
    if given is None or stated is None:
        return
    differ = len(given) != len(stated) or any(
        isinstance(left, int) and isinstance(right, int) and left != right
        for left, right in zip(given, stated, strict=True)
    )
    if differ:
        text = f"the file states {[str(dim) for dim in stated]}; given was {[str(dim) for dim in given]}, which is used"
        node.decide("input shape", text)


def _axis_name(name: str, axis: int) -> str:
    """The name of an open size: the input's, in letters that a size may have, and the axis."""
    clean = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in name)
    return f"{clean if not clean[0].isdigit() else '_' + clean}_{axis}"


def import_placeholder_with_default(node: ImportNode) -> Value:
    """Its default, or an input of the graph if the user gives a shape or dtype for it."""
    default = node.input(0)
    if node.given_shape is None and node.given_dtype is None:
        node.decide("default taken", f"an input with a default, which is used: {default.name}")
        return default
    stated = node.attrs.get("shape")
    return node.new_input(TensorType(node.given_dtype or default.dtype, node.given_shape or stated))


IMPORTS: dict[str, ImportFunction] = {
    "Const": import_const,
    "Placeholder": import_placeholder,
    "PlaceholderV2": import_placeholder,
    "PlaceholderWithDefault": import_placeholder_with_default,
}

__all__ = ["IMPORTS"]
