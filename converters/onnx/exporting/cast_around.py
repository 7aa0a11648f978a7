"""Casts around a node that onnxruntime has no kernel for in its dtypes, as `runnable` plans them."""

from __future__ import annotations

from collections.abc import Mapping

from graphir.converters.onnx.dtypes import CODES
from graphir.converters.onnx.exporting.casts import dtype_of
from graphir.converters.onnx.exporting.context import Export
from graphir.converters.onnx.exporting.runnable import NodePlan, element
from graphir.converters.onnx.exporting.signatures import OperatorSignature, signature
from graphir.converters.onnx.files.records import OnnxNode
from graphir.tensor import Tensor

# Operators whose attribute `dtype` states what their result consists of.
STATED = frozenset({
    "Bernoulli", "EyeLike", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
})  # fmt: skip


def cast_around(export: Export, node: OnnxNode, plan: NodePlan, types: Mapping[str, str], source: str) -> None:
    """Add the node to the export with casts around it. `source` is the name of the graph's own node."""
    schema = signature(node.op_type, export.opset)
    assert schema is not None
    casts: dict[tuple[str, str], str] = {}
    inputs = list(node.inputs)
    for slot, name in enumerate(inputs):
        formal = schema.inputs[min(slot, len(schema.inputs) - 1)] if schema.inputs else None
        wide = plan.wide.get(formal.variable) if formal is not None and name else None
        if wide is None or element(types.get(name, "")) == wide:
            continue
        if (name, wide) not in casts:
            casts[name, wide] = export.names.fresh(f"{source}_wide")
            export.append("Cast", (name,), (casts[name, wide],), f"{source}_wide", {"to": CODES[dtype_of(wide)]})
        inputs[slot] = casts[name, wide]
    outputs, back = list(node.outputs), []
    for slot, name in enumerate(outputs):
        formal = schema.outputs[min(slot, len(schema.outputs) - 1)]
        text = element(types.get(name, ""))
        if name and formal.variable in plan.wide and text != plan.wide[formal.variable]:
            outputs[slot] = export.names.fresh(f"{name}_wide")
            back.append((outputs[slot], name, text))
    node.attributes = _attributes(node, plan, schema, types)
    node.inputs, node.outputs = inputs, outputs
    export.nodes.append(node)
    for wide_name, name, text in back:
        export.append("Cast", (wide_name,), (name,), f"{source}_narrow", {"to": CODES[dtype_of(text)]})


def _attributes(
    node: OnnxNode, plan: NodePlan, schema: OperatorSignature, types: Mapping[str, str]
) -> dict[str, object]:
    """Return the node's attributes, those that state the result's dtype changed to the one that it now has."""
    wide = plan.wide.get(schema.outputs[0].variable)
    if node.op_type == "ConstantOfShape" and wide is not None:
        value = node.attributes["value"]
        return node.attributes | {"value": Tensor.of(value.numpy(), dtype_of(wide))}
    if node.op_type in STATED:
        dtype = element(types.get(node.outputs[0], ""))
        return node.attributes | {"dtype": CODES[dtype_of(wide or dtype)]} if wide or dtype else node.attributes
    return node.attributes
