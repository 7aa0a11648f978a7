"""ONNX's graphs as plain records, which the exporter makes and the writer says in bytes; and what reading and writing
share: keys of a graph's metadata that stand for fields of a ModelProto, so that they come back on export, and the names
of ONNX's own domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from graphir.structure.record import mutable_record, record
from graphir.tensor import Tensor
from graphir.types import Type

PRODUCER = "graphir"
FIELD = "onnx."
OPSET = "onnx.opset:"
DIM_PARAM = "onnx.dim_param:"
METADATA = "onnx.metadata:"  # before keys of the model's own that begin with FIELD

DEFAULT_DOMAINS = ("", "ai.onnx")


@record
class SerializedAttribute:
    """An attribute as the bytes of its AttributeProto."""

    data: bytes


@mutable_record
class OnnxGraph:
    """An ONNX graph as plain records, its weights still lazy. As an attribute it is a subgraph.

    `value_info` are types of inner values to be stated, `metadata` what the IR's graph says of itself.
    """

    name: str
    nodes: list[OnnxNode]
    inputs: list[tuple[str, Type]]
    outputs: list[tuple[str, Type]]
    initializers: dict[str, Tensor]
    value_info: list[tuple[str, Type]] = field(default_factory=list, kw_only=True)
    metadata: dict[str, str] = field(default_factory=dict, kw_only=True)


@dataclass(slots=True)
class OnnxNode:
    """One ONNX node as plain data. Inputs and outputs are names, "" where absent; attributes without None."""

    op_type: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    name: str
    attributes: dict[str, Any]
    domain: str = ""


@mutable_record
class OnnxModel(OnnxGraph):
    """An ONNX model as plain records, its weights still lazy."""

    opset: int
    domains: dict[str, int] = field(default_factory=dict)
    ir_version: int = 8
