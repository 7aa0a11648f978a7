"""The audit's fixes, done as they are written: to the nodes of an ONNX model, and to an MXNet symbol."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

WINDOWS = ("Conv", "ConvTranspose", "MaxPool", "AveragePool", "LpPool")


def _arguments(text: str) -> dict[str, Any]:
    """`name=value, name=value` as a mapping."""
    found: dict[str, Any] = {}
    for name, value in re.findall(r"(\w+)=(\[[^\]]*\]|\([^)]*\)|'[^']*'|[^,]+)", text):
        found[name] = _value(value)
    return found


def _value(text: str) -> Any:
    literal = text.replace("(", "[").replace(",)", "]").replace(")", "]").replace("'", '"')
    return json.loads(literal.replace("None", "null").replace("True", "true").replace("False", "false"))


def mended_onnx(model: onnx.ModelProto, fix: str) -> onnx.ModelProto:
    """A copy of the model, its only window mended."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    (window,) = (node for node in graph.node if node.op_type in WINDOWS)
    fix, _, without = fix.partition(", without ")
    parts = without.split(" and ") if without else []
    front = re.fullmatch(r"(?:a Pad|the Pad (\w+) as Pad)\((.*?)\) in front and (.*)", fix)
    if "output_shape" in parts:
        _set(window, "output_shape", None)
    if any(part.startswith("the Pad") for part in parts) or (front is not None and front[1]):
        _take_out_pad(graph)
    if front is not None:
        stated = _arguments(front[2])
        names = [window.input[0], "mended_pads"]
        graph.initializer.append(numpy_helper.from_array(np.array(stated["pads"], np.int64), names[1]))
        if "constant_value" in stated:
            names.append("mended_fill")
            graph.initializer.append(numpy_helper.from_array(np.array(stated["constant_value"], np.float32), names[2]))
        graph.node.insert(0, helper.make_node("Pad", names, ["mended"], mode=stated["mode"]))
        window = next(node for node in graph.node if node.op_type in WINDOWS)
        window.input[0] = "mended"
        fix = front[3]
    for name, value in _arguments(fix).items():
        _set(window, name, value)
    for place, size in enumerate(graph.output[0].type.tensor_type.shape.dim):
        size.dim_param = f"d{place}"
    return made


def _set(node: onnx.NodeProto, name: str, value: object) -> None:
    kept = [held for held in node.attribute if held.name != name]
    del node.attribute[:]
    node.attribute.extend(kept)
    if value is not None:
        node.attribute.append(helper.make_attribute(name, value))


def _take_out_pad(graph: onnx.GraphProto) -> None:
    (pad,) = (node for node in graph.node if node.op_type == "Pad")
    graph.node.remove(pad)
    for node in graph.node:
        node.input[:] = [pad.input[0] if name == pad.output[0] else name for name in node.input]


class Symbol:
    """An MXNet symbol in the making: nodes in order, each an index."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []

    def add(self, op: str, name: str, *inputs: int, **attrs: object) -> int:
        shown = {key: str(value) for key, value in attrs.items()}
        entries = [[place, 0, 0] for place in inputs]
        self.nodes.append({"op": op, "name": name, "inputs": entries} | ({"attrs": shown} if shown else {}))
        return len(self.nodes) - 1

    def text(self, head: int) -> str:
        places = [place for place, node in enumerate(self.nodes) if node["op"] == "null"]
        return json.dumps({"nodes": self.nodes, "arg_nodes": places, "heads": [[head, 0, 0]],
                           "attrs": {"mxnet_version": ["int", 10901]}})  # fmt: skip


def mxnet_symbol(op: str, attrs: dict[str, Any], fix: str = "") -> str:
    """Data, an operator and what a fix puts around it."""
    symbol = Symbol()
    data = read = symbol.add("null", "data")
    fix, _, _ = fix.partition(", without ")
    fix, shared, _ = fix.partition(", divided by the same average of such padded ones")
    padded = r"(?:\w+ as )?(?:mx\.sym\.squeeze\()?mx\.sym\.Pad\((.*?)\)(?:, axis=2\))?"
    front = re.fullmatch(padded + " in front and (.*)", fix)
    behind = re.fullmatch(r"(.*) and mx\.sym\.slice\((.*)\) behind", fix)
    lone = "expand_dims" in fix
    pad = _arguments(front[1].replace("mx.sym.expand_dims(data, axis=2), ", "")) if front else {}
    if front:
        read = _padded(symbol, data, pad, lone, "front")
    attrs = attrs | _arguments(front[2] if front else behind[1] if behind else fix)
    operands = [read]
    if op != "Pooling":
        operands.append(symbol.add("null", "layer_weight"))
    head = symbol.add(op, "layer", *operands, **attrs)
    if shared:
        ones = _padded(symbol, symbol.add("ones_like", "ones", data), pad, lone, "around")
        head = symbol.add("broadcast_div", "mean", head, symbol.add("Pooling", "share", ones, **attrs))
    if behind:
        cut = _arguments(behind[2])
        head = symbol.add("slice", "cut", head, **{name: tuple(value) for name, value in cut.items()})
    return symbol.text(head)


def _padded(symbol: Symbol, data: int, pad: dict[str, Any], lone: bool, name: str) -> int:
    if lone:
        data = symbol.add("expand_dims", f"{name}_wide", data, axis=2)
    stated = {key: tuple(value) if isinstance(value, list) else value for key, value in pad.items()}
    made = symbol.add("Pad", name, data, **stated)
    return symbol.add("squeeze", f"{name}_narrow", made, axis=2) if lone else made


__all__ = ["mended_onnx", "mxnet_symbol"]
