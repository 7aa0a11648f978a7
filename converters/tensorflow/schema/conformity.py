"""Nodes against TensorFlow's schema: the one place where a node's inputs and attributes are looked at before anything
reads them, so that whoever does may take them for what the schema says.

A node fits if it has as many inputs as its operator takes, if its attributes are of the schema's kinds and within its
limits, and if those without a default are there. Attributes that the schema does not know are left alone; so are nodes
of operators that it does not know, which are refused later, all at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from graphir.converters.tensorflow.dtypes import NAMES
from graphir.converters.tensorflow.files.records import Argument, Endpoint, FunctionCall, TFNode
from graphir.converters.tensorflow.schema.operators import OperatorSchema, counted, operator_schema, output_types
from graphir.errors import FormatError
from graphir.safety.foreign_text import shortened
from graphir.safety.limits import charge_nodes, check_count
from graphir.tensor import Tensor
from graphir.types import DType, Unknown

SHOWN = 8
LARGEST = (1 << 31) - 1
# Operators whose windows have this many axes, batch and channels among them.
AXES = {
    "Conv2D": 4, "Conv2DBackpropInput": 4, "Conv3D": 5, "Conv3DBackpropInput": 5, "Conv3DBackpropInputV2": 5,
    "DepthwiseConv2dNative": 4, "DepthwiseConv2dNativeBackpropInput": 4, "Dilation2D": 4, "ExtractImagePatches": 4,
    "ExtractVolumePatches": 5, "AvgPool": 4, "AvgPool3D": 5, "MaxPool": 4, "MaxPool3D": 5, "MaxPoolWithArgmax": 4,
    "FractionalAvgPool": 4, "FractionalMaxPool": 4, "_FusedConv2D": 4, "_FusedConv3D": 5,
    "_FusedDepthwiseConv2dNative": 4,
}  # fmt: skip
# Strings that are texts; others may be any bytes, as those that hold a message.
_TEXTS = frozenset({"equation", "method", "mode", "reduction_type"})
_WINDOWS = ("strides", "dilations", "ksize", "ksizes", "rates")
_DTYPES = frozenset(NAMES.values())


def _is_shape(value: object) -> bool:
    if value is None:
        return True
    return isinstance(value, tuple) and all(
        isinstance(size, Unknown) or (type(size) is int and size >= 0) for size in value
    )


_KINDS: Mapping[str, Callable[[object], bool]] = {
    "bool": lambda value: type(value) is bool,
    "float": lambda value: type(value) is float,
    "func": lambda value: isinstance(value, FunctionCall),
    "int": lambda value: type(value) is int,
    "shape": _is_shape,
    "string": lambda value: isinstance(value, str | bytes),
    "tensor": lambda value: isinstance(value, Tensor),
    "type": lambda value: isinstance(value, DType) or (isinstance(value, str) and value in _DTYPES),
}
# What graphs have besides the schema's attributes, and is read.
_OTHERS = {"_output_shapes": "list(shape)"}


def check_nodes(nodes: Iterable[tuple[str, str, Mapping[str, Any], int]], path: object = None) -> None:
    """Raise FormatError, naming the first of them, if nodes do not fit; each is given as its name, operator, attributes
    and number of inputs. The results that they state are charged."""
    shown: list[str] = []
    count = 0
    for name, op, attrs, inputs in nodes:
        schema = operator_schema(op)
        faults = [] if schema is None else list(_faults(schema, attrs, inputs))
        count += bool(faults)
        if faults and len(shown) < SHOWN:
            shown.append(f"node {name} ({op}): {'; '.join(faults[:SHOWN])}")
        if schema is not None and not faults and not op.startswith("_"):
            _charge(schema, attrs, f"the results of node {name} ({op})")
    if shown:
        more = f"\n  and {count - SHOWN} more" if count > SHOWN else ""
        listed = "\n  ".join(shown)
        raise FormatError(f"{count} node(s) do not fit TensorFlow's operators:\n  {listed}{more}", path=path)


def _charge(schema: OperatorSchema, attrs: Mapping[str, Any], what: str) -> None:
    """Charge results of which there may be more than the file has bytes."""
    for output in schema.outputs:
        if output.count:
            number = counted(output, schema, attrs)
            check_count(number, what)
            charge_nodes(number, what)


def _faults(schema: OperatorSchema, attrs: Mapping[str, Any], inputs: int) -> Iterator[str]:
    is_internal = schema.name.startswith("_")  # the optimizer's own, which differ from release to release
    wrong = False
    for name, kind in schema.kinds.items():
        if name in attrs:
            fault = _attribute_fault(schema, name, kind, attrs[name])
        else:
            may_lack = name in schema.defaults or is_internal
            fault = "" if may_lack else f"the attribute {name} is missing, and has no default"
        if fault:
            wrong = True
            yield fault
    for name, kind in _OTHERS.items():
        if name in attrs and not _fits(kind, attrs[name]):
            wrong = True
            yield f"{name} is {shortened(attrs[name])}, expected {kind}"
    if not wrong and not is_internal:
        wanted = sum(counted(argument, schema, attrs) for argument in schema.inputs)
        if wanted != inputs:
            yield f"it has {inputs} inputs, expected {wanted} ({_signature(schema.inputs)})"


def _attribute_fault(schema: OperatorSchema, name: str, kind: str, value: Any) -> str:
    if not _fits(kind, value):
        return f"the attribute {name} is {shortened(value)}, expected {kind}"
    if name in _TEXTS and isinstance(value, bytes):
        return f"the attribute {name} is {shortened(value)}, expected a text"
    limit = schema.limits.get(name)
    if isinstance(limit, list):
        odd = [text for text in (value if kind.startswith("list(") else [value]) if text not in limit]
        if odd:
            return f"the attribute {name} is {shortened(odd[0])}, expected one of {', '.join(limit)}"
    elif limit is not None and (len(value) if kind.startswith("list(") else value) < limit:
        return f"the attribute {name} is {shortened(value)}, expected at least {limit}"
    return _window_fault(schema.name, name, value)


def _window_fault(op: str, name: str, value: Any) -> str:
    """Return why strides and the like do not fit: they are one positive number for each axis."""
    axes = AXES.get(op)
    if axes is None:
        return ""
    if name == "explicit_paddings" and len(value) not in (0, 2 * axes):
        return f"explicit_paddings has {len(value)} entries, expected {2 * axes} or none"
    if name == "explicit_paddings" and value and not 0 <= min(value) <= max(value) <= LARGEST:
        return f"explicit_paddings is {shortened(value)}, expected numbers of at least 0"
    if name not in _WINDOWS:
        return ""
    if len(value) != axes:
        return f"{name} is {shortened(value)}, expected {axes} numbers"
    if not 1 <= min(value) <= max(value) <= LARGEST:
        return f"{name} is {shortened(value)}, expected numbers of at least 1"
    return ""


def _fits(kind: str, value: object) -> bool:
    if kind.startswith("list("):
        return isinstance(value, tuple) and all(map(_KINDS[kind[5:-1]], value))
    return _KINDS[kind](value)


def _signature(arguments: Iterable[Argument]) -> str:
    listed = [
        f"{argument.count} of {argument.name}" if argument.count
        else f"{argument.name} as {argument.dtype_attr} lists" if argument.is_list
        else argument.name
        for argument in arguments
    ]  # fmt: skip
    return ", ".join(listed) or "none"


def check_edges(nodes: Mapping[str, TFNode]) -> None:
    """Raise FormatError for an input that its producer has no such result for, or one of another dtype.

    Inputs of nodes that are not among these are left to whoever looks for them.
    """
    results: dict[str, list[Any] | None] = {}
    for node in nodes.values():
        schema = operator_schema(node.op)
        if schema is None or node.op.startswith("_"):
            continue
        expected = [dtype for argument in schema.inputs for dtype in _expected(argument, schema, node.attrs)]
        for slot, (endpoint, wanted) in enumerate(zip(node.inputs, expected, strict=False)):
            producer = nodes.get(endpoint.node)
            if producer is None:
                continue
            if endpoint.node not in results:
                known = not producer.op.startswith("_")
                results[endpoint.node] = output_types(producer.op, producer.attrs) if known else None
            fault = _edge_fault(endpoint, wanted, producer.op, results[endpoint.node])
            if fault:
                raise FormatError(f"node {node.name} ({node.op}): input {slot} {fault}")


def _edge_fault(endpoint: Endpoint, wanted: Any, op: str, types: list[Any] | None) -> str:
    if types is None:
        return ""
    if endpoint.slot >= len(types):
        return f"is result {endpoint.slot} of {endpoint.node} ({op}), which has {len(types)}"
    dtype = types[endpoint.slot]
    if dtype is None or wanted is None or dtype == wanted:
        return ""
    return f"is {endpoint}, a result of the dtype {dtype}, expected {wanted}"


def _expected(argument: Argument, schema: OperatorSchema, attrs: Mapping[str, Any]) -> list[Any]:
    def stated(name: str) -> Any:
        return attrs[name] if name in attrs else schema.defaults.get(name)

    if argument.is_list:
        return list(stated(argument.dtype_attr) or ())
    dtype = stated(argument.dtype_attr) if argument.dtype_attr else argument.dtype
    return [dtype] * counted(argument, schema, attrs)
