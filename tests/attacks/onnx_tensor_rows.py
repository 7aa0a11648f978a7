"""ONNX models whose tensors and declared values are not what they say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx

from tests.attacks.attack import Attack
from tests.attacks.onnx_rows import parsed
from tests.fuzz.json_ import LONG


def edited(name: str, change: Any, refused: str = "", files: Mapping[str, bytes] | None = None) -> Attack:
    """A model of one product, with a change of its ModelProto."""
    made = parsed("g (float[3] x) => (float[3] y) <float[3] w = {1, 2, 3}> { y = Mul(x, w) }")
    change(made)
    return Attack(name, "m.onnx", {"m.onnx": made.SerializeToString(), **(files or {})}, refused)


def lies_elsewhere(**entries: str) -> Any:
    """The weight's elements lie in another file, it says."""

    def change(made: Any) -> None:
        weight = made.graph.initializer[0]
        weight.ClearField("float_data")
        weight.ClearField("raw_data")
        weight.data_location = onnx.TensorProto.EXTERNAL
        for key, value in entries.items():
            weight.external_data.add(key=key, value=value)

    return change


def initializer(**fields: Any) -> Any:
    """The weight is another TensorProto."""
    return lambda made: made.graph.initializer[0].CopyFrom(onnx.TensorProto(name="w", **fields))


def sparse(dims: tuple[int, ...], places: tuple[int, ...] = (1,), rows: tuple[int, ...] | None = None) -> Any:
    """The weight is sparse, its indices flat or of the shape `rows`."""

    def change(made: Any) -> None:
        del made.graph.initializer[:]
        shape = (len(places),) if rows is None else rows
        values = onnx.helper.make_tensor("w", 1, shape[:1], [1.0] * shape[0])
        indices = onnx.helper.make_tensor("", 7, shape, list(places))
        made.graph.sparse_initializer.append(onnx.SparseTensorProto(values=values, indices=indices, dims=list(dims)))

    return change


W = b"\0" * 12
ROWS = (
    edited("an offset of 5,000 digits", lies_elsewhere(location="w.bin", offset=LONG), "offset", {"w.bin": W}),
    edited("a length of 5,000 digits", lies_elsewhere(location="w.bin", length=LONG), "length", {"w.bin": W}),
    edited("an offset beyond the file", lies_elsewhere(location="w.bin", offset="9" * 19), "bytes", {"w.bin": W}),
    edited("a negative offset", lies_elsewhere(location="w.bin", offset="-4"), "offset", {"w.bin": W}),
    edited("an offset in another script", lies_elsewhere(location="w.bin", offset="\u0664"), "offset", {"w.bin": W}),
    edited("no location", lies_elsewhere(offset="0"), "external data"),
    edited("a location of 5,000 characters", lies_elsewhere(location="x" * 5000), "File name too long"),
    edited("a location with a NUL", lies_elsewhere(location="w\0.bin"), "relative"),
    edited("a location that climbs", lies_elsewhere(location="a/../../../etc/passwd"), "climbs"),
    edited("an absolute location", lies_elsewhere(location="/etc/passwd"), "relative"),
    edited("the folder as a location", lies_elsewhere(location="."), "external data"),
    edited("a file as a folder", lies_elsewhere(location="w.bin/x"), "", {"w.bin": W}),
    edited("the model as its own weights", lies_elsewhere(location="m.onnx")),
    edited("a mark of our own", lies_elsewhere(**{"graphir.region": LONG}), "not ONNX"),
    edited("a mark of our own in another script", lies_elsewhere(**{"graphir.region": "\u0661"}), "not ONNX"),
    edited("a claim of a petabyte", initializer(data_type=1, dims=[10**15]), "elements"),
    edited("a claim of a petabyte of bytes", initializer(data_type=1, dims=[10**15], raw_data=W), "bytes"),
    edited("dims beyond 64 bits together", initializer(data_type=1, dims=[2**62, 2**62, 4], raw_data=b""), "elements"),
    edited("a zero and a huge dim", initializer(data_type=1, dims=[0, 2**62])),
    edited("a negative dim", initializer(data_type=1, dims=[-1, -3], raw_data=W), "negative"),
    edited("3,000 axes", initializer(data_type=1, dims=[1] * 3000, raw_data=W[:4]), "at most 32"),
    edited("33 axes", initializer(data_type=1, dims=[1] * 33, raw_data=W[:4]), "at most 32"),
    edited("an unknown type", initializer(data_type=2**31 - 1, dims=[3], raw_data=W), "element type"),
    edited("a negative type", initializer(data_type=-7, dims=[3], raw_data=W), "element type"),
    edited("texts as raw data", initializer(data_type=8, dims=[3], raw_data=W), "strings"),
    edited("4 bits in an odd count", initializer(data_type=22, dims=[3], raw_data=W[:2])),
    edited("complex numbers of one part", initializer(data_type=14, dims=[1], float_data=[1.0])),
    edited("half floats beyond 16 bits", initializer(data_type=10, dims=[1], int32_data=[2**31 - 1])),
    edited("a sparse petabyte", sparse((10**15,)), "elements of 1 stored"),
    edited("a sparse gigabyte", sparse((10**9,)), "elements of 1 stored"),
    edited("a sparse matrix beyond 64 bits", sparse((2**40, 2**40))),
    edited("a sparse index outside", sparse((3,), (2**63 - 1,)), "outside"),
    edited("a sparse index below", sparse((3,), (-1,)), "outside"),
    edited("sparse dims that are negative", sparse((-3,))),
    edited("a sparse index twice", sparse((3,), (1, 1)), "twice"),
    edited("a sparse place twice", sparse((3, 4), (1, 2, 0, 3, 1, 2), (3, 2)), "twice"),
    edited("a sparse scalar of two values", sparse((), (), (2, 0)), "twice"),
    edited("sparse of 100 axes", sparse((1,) * 100)),
    edited(
        "a huge input",
        lambda made: made.graph.input[0].type.tensor_type.shape.dim[0].__setattr__("dim_value", 2**63 - 1),
    ),
    edited(
        "a negative input",
        lambda made: made.graph.input[0].type.tensor_type.shape.dim[0].__setattr__("dim_value", -(2**63)),
    ),
    edited(
        "3,000 axes of an input",
        lambda made: [made.graph.input[0].type.tensor_type.shape.dim.add(dim_value=1) for _ in range(3000)],
    ),
    edited(
        "a size that is an expression",
        lambda made: made.graph.input[0].type.tensor_type.shape.dim[0].__setattr__("dim_param", "N*" * 3000 + "N"),
    ),
    edited(
        "a size that is brackets",
        lambda made: made.graph.input[0].type.tensor_type.shape.dim[0].__setattr__("dim_param", "(" * 3000),
    ),
    edited(
        "a size of our own that is an expression",
        lambda made: (
            made.__setattr__("producer_name", "graphir"),
            made.graph.input[0].type.tensor_type.shape.dim[0].__setattr__("dim_param", "*".join(["(N+M+1)"] * 300)),
        ),
    ),
    edited(
        "a size of our own that is brackets",
        lambda made: (
            made.__setattr__("producer_name", "graphir"),
            made.graph.input[0].type.tensor_type.shape.dim[0].__setattr__("dim_param", "(" * 1500 + "N" + ")" * 1500),
        ),
    ),
    edited(
        "a size of our own of 5,000 digits",
        lambda made: (
            made.__setattr__("producer_name", "graphir"),
            made.graph.input[0].type.tensor_type.shape.dim[0].__setattr__("dim_param", f"N+{LONG}"),
        ),
    ),
    edited("an opset beyond all", lambda made: made.opset_import[0].__setattr__("version", 2**63 - 1), "opset"),
    edited("two opsets of ONNX", lambda made: made.opset_import.add(domain="ai.onnx", version=7), "18 and 7"),
    edited("an opset below all", lambda made: made.opset_import[0].__setattr__("version", -(2**63)), "opset"),
    edited("an IR version beyond all", lambda made: made.__setattr__("ir_version", 2**63 - 1)),
    edited("20 names of one value", lambda made: made.graph.node.extend([made.graph.node[0]] * 20)),
    edited("a node that feeds itself", lambda made: made.graph.node[0].input.__setitem__(0, "y")),
    edited("an operator that is none", lambda made: made.graph.node[0].__setattr__("op_type", "x" * 9000)),
    edited(
        "an attribute of the wrong kind",
        lambda made: made.graph.node[0].attribute.add(name="axis", type=3, s=b"\xff\xfe"),
    ),
)


__all__ = ["ROWS", "edited", "lies_elsewhere"]
