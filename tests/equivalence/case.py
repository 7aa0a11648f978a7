"""One operator, its attributes and its inputs: a row that every road through the project can be asked to compute.

A case needs no framework. `symbol_json` is the symbol as MXNet 1.9.1 writes it, `arrays` the inputs' values, drawn from
PCG64 by kind. Families keep their rows in `tests/equivalence/<family>.py` as CASES, and in REFUSED those that MXNet
does not accept.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Role = Literal["data", "param", "aux", "label"]


# The number of outputs of operators that always show the same.
SEVERAL = {
    **dict.fromkeys(("moments", "_histogram"), 2),
    **dict.fromkeys(("_linalg_slogdet", "_linalg_gelqf", "_linalg_syevd", "_npi_eigh"), 2),
    "_npi_svd": 3,
}


@dataclass(frozen=True)
class Input:
    """One input: MXNet's name for it, its shape and dtype, and how its values are drawn.

    `kind`: normal; positive (0.5 to 2); unit (-0.95 to 0.95); distinct (a permutation, far apart); halves (multiples of
    0.5); definite (matrices, symmetric and positive definite but for an upper triangle a little larger); dominant
    (matrices of a large diagonal); bits (0 or 1); `indices:n` (0 to n - 1); `integers:a:b` (a to b, both included);
    `scale:s` (normal times s).
    `values` overrides it. `role`: a param is a weight that the model file holds, aux an auxiliary state, label an input
    that inference does not read, data all others.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"
    kind: str = "normal"
    role: Role = "data"
    values: tuple[float, ...] | None = None

    def draw(self, generator: np.random.Generator) -> NDArray[Any]:
        """The values, as an array of the input's shape and dtype."""
        if self.values is not None:
            return np.array(self.values, np.float64).reshape(self.shape).astype(self.dtype)
        kind, *limits = self.kind.split(":")
        found: NDArray[Any]
        match kind:
            case "normal":
                found = generator.standard_normal(self.shape)
                found = np.rint(found * 4) if np.dtype(self.dtype).kind in "iu" else found
            case "scale":
                found = generator.standard_normal(self.shape) * float(limits[0])
            case "positive":
                found = generator.uniform(0.5, 2.0, self.shape)
            case "unit":
                found = generator.uniform(-0.95, 0.95, self.shape)
            case "distinct":
                count = int(np.prod(self.shape))
                found = (generator.permutation(count) - count // 2).reshape(self.shape) * 0.5
            case "halves":
                found = generator.integers(-8, 9, self.shape) * 0.5
            case "definite" | "dominant":
                found = _matrices(kind, self.shape, generator)
            case "bits":
                found = generator.integers(0, 2, self.shape)
            case "indices":
                found = generator.integers(0, int(limits[0]), self.shape)
            case "integers":
                found = generator.integers(int(limits[0]), int(limits[1]) + 1, self.shape)
            case _:
                raise ValueError(f"kind {self.kind!r} is unknown")
        return found.astype(self.dtype)


def _matrices(kind: str, shape: tuple[int, ...], generator: np.random.Generator) -> NDArray[Any]:
    """Square matrices in the last two axes; of other shapes normal numbers."""
    found = generator.standard_normal(shape)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        return found
    unit = np.eye(shape[-1])
    if kind == "dominant":
        return found + 2 * shape[-1] * unit
    found = found @ np.swapaxes(found, -1, -2) / max(shape[-1], 1) + unit
    return found * (1 + 0.01 * np.triu(np.ones(shape[-2:]), 1))


@dataclass(frozen=True)
class Case:
    """A single operator's call. `variant` tells the cases of one operator apart.

    `onednn` marks an operator whose CPU kernel MXNet only has with oneDNN. `tolerance` is relative to the largest
    magnitude of the expected output; None means the default of its dtype.
    `node_name` is the node's name in a model whose author gave one, `inside` the JSON of a symbol inside it. Below
    `least_opset` ONNX cannot say it. With `np_shape` the symbol has those semantics. `halved_weights` marks a
    convolution of int8 data, whose weights oneDNN halves and rounds on processors without VNNI.
    """

    op: str
    attrs: Mapping[str, str] = field(hash=False)
    inputs: tuple[Input, ...]
    variant: str = "default"
    onednn: bool = False
    tolerance: float | None = None
    node_name: str = ""
    inside: str = ""
    least_opset: int = 0
    np_shape: bool = False
    halved_weights: bool = False

    @property
    def is_special(self) -> bool:
        """Return whether an input has values at the edge: NaN, infinities, squares beyond float32, indices below 0."""
        stated = [number for source in self.inputs for number in source.values or ()]
        return self.variant.endswith("_image") or any(not 1e-15 < abs(number) < 1e15 for number in stated if number)

    @property
    def name(self) -> str:
        """The test's id."""
        return f"{self.op}-{self.variant}"

    @property
    def node(self) -> str:
        """The operator node's name: MXNet's automatic one, unless the case has its own."""
        return self.node_name or f"{self.op.lower().lstrip('_')}0"

    def variable(self, source: Input) -> str:
        """The variable that feeds an input."""
        return f"{self.node}_{source.name}"

    def variables(self, *roles: Role) -> tuple[str, ...]:
        """The variables of the given roles, in the operator's order."""
        return tuple(self.variable(source) for source in self.inputs if source.role in roles)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every data input and label."""
        return {self.variable(source): source.shape for source in self.inputs if source.role in ("data", "label")}

    def symbol_json(self) -> str:
        """The symbol as MXNet 1.9.1 writes it."""
        nodes: list[dict[str, object]] = [
            {"op": "null", "name": self.variable(source), "inputs": []} for source in self.inputs
        ]
        count = len(nodes)
        node: dict[str, object] = {"op": self.op, "name": self.node}
        if self.attrs:
            node["attrs"] = dict(self.attrs)
        if self.inside:
            node["subgraphs"] = [json.loads(self.inside)]
        nodes.append(node | {"inputs": [[index, 0, 0] for index in range(count)]})
        document = {
            "nodes": nodes,
            "arg_nodes": list(range(count)),
            "node_row_ptr": list(range(count + 2)),
            "heads": [[count, slot, 0] for slot in range(self.heads)],
            "attrs": {"mxnet_version": ["int", 10901]} | ({"is_np_shape": ["int", 1]} if self.np_shape else {}),
        }
        return json.dumps(document, indent=2)

    @property
    def heads(self) -> int:
        """The number of outputs that the operator shows with these attributes."""
        attrs = self.attrs
        true = ("True", "1", "true")
        match self.op:
            case "SliceChannel" | "amp_multicast":
                return int(attrs["num_outputs"])
            case "_split_v2" | "_npi_hsplit" | "_npi_dsplit":
                sections = max(int(attrs.get("sections", "0")), 0)
                return sections or len([entry for entry in attrs["indices"].strip("()[] ").split(",") if entry.strip()])
            case "BatchNorm" | "BatchNorm_v1" | "_contrib_BatchNormWithReLU" | "LayerNorm" | "GroupNorm":
                return 3 if attrs.get("output_mean_var") in true else 1
            case "_sample_categorical":
                return 2 if attrs.get("get_prob") in true else 1
            case "topk":
                return 2 if attrs.get("ret_typ") == "both" else 1
            case "RNN":
                states = 2 if attrs["mode"] == "lstm" else 1
                return 1 + states if attrs.get("state_outputs") in true else 1
            case op if ("quantize" in op or attrs.get("quantized") in true) and op != "_contrib_dequantize":
                return 1 if attrs.get("enable_float_output") in true else 3
            case "_npi_unique":
                flags = ("return_index", "return_inverse", "return_counts")
                return 1 + sum(attrs.get(flag) in true for flag in flags)
            case "_np_atleast_1d" | "_np_atleast_2d" | "_np_atleast_3d":
                return int(attrs["num_args"])
            case "_npi_average":
                return 2 if attrs.get("returned") in true else 1
            case "_contrib_Proposal" | "_contrib_MultiProposal":
                return 2 if attrs.get("output_score") in true else 1
        return SEVERAL.get(self.op, 1)

    def arrays(self, seed: int = 0) -> dict[str, NDArray[Any]]:
        """Every input's values by variable; the same seed gives the same values everywhere."""
        found = {}
        for source in self.inputs:
            entropy = [seed, zlib.crc32(f"{self.name}/{source.name}".encode())]
            found[self.variable(source)] = source.draw(np.random.Generator(np.random.PCG64(entropy)))
        return found


def data(*shape: int, name: str = "data", dtype: str = "float32", kind: str = "normal") -> Input:
    """A data input drawn by kind."""
    return Input(name, shape, dtype, kind)


def values(*numbers: float, shape: tuple[int, ...] | None = None, name: str = "data", dtype: str = "float32") -> Input:
    """A data input of explicit values; one axis unless a shape is given."""
    return Input(name, (len(numbers),) if shape is None else shape, dtype, values=numbers)


def param(name: str, *shape: int, dtype: str = "float32", kind: str = "normal") -> Input:
    """A weight."""
    return Input(name, shape, dtype, kind, "param")


def aux(name: str, *shape: int, dtype: str = "float32", kind: str = "normal") -> Input:
    """An auxiliary state."""
    return Input(name, shape, dtype, kind, "aux")


def label(*shape: int, name: str = "label", dtype: str = "float32", kind: str = "indices:2") -> Input:
    """An input that inference does not read."""
    return Input(name, shape, dtype, kind, "label")


def case(
    op: str, variant: str, *inputs: Input, onednn: bool = False, tolerance: float | None = None, **attrs: object
) -> Case:
    """A case whose attributes are written as Python prints them, which is how MXNet's Python API stores them."""
    return Case(op, {name: str(value) for name, value in attrs.items()}, inputs, variant, onednn, tolerance)
