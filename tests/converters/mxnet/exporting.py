"""One ONNX operator on its way through MXNet: as onnxruntime computes it, as live MXNet and the numpy reference compute
what was written, and as this project reads that again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented  # noqa: A004

from graphir.converters.mxnet import from_symbol, to_symbol
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.files.params import split_prefixes
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.converters.onnx import from_model, to_model
from graphir.graph import Graph
from tests.building import run_model
from tests.equivalence.live import Live, LivePair
from tests.requirements import needing
from tests.typed import present, tensor_type

Array = NDArray[Any]
GENERATOR = np.random.default_rng(0)
LIMITS = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-9}
HELD = ("float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool")
NEWEST_RUN = 26  # the newest opset that onnxruntime runs
NEWEST_IR = 11


def normal(*shape: int, dtype: str = "float32", scale: float = 2.0) -> Array:
    """Numbers of both signs, integers where the dtype holds such."""
    found = GENERATOR.standard_normal(shape) * scale
    return (np.rint(found) if np.dtype(dtype).kind in "iu" else found).astype(dtype)


def integers(low: int, high: int, *shape: int, dtype: str = "int64") -> Array:
    """Integers from `low` to `high`, both included."""
    return GENERATOR.integers(low, high, shape, endpoint=True).astype(dtype)


@dataclass(frozen=True, eq=False)
class Row:
    """One ONNX operator with its attributes; `data` are inputs, `held` initializers, both by input name.

    `inputs` gives the order of the operator's inputs ("" for an absent one): `data`, then `held`, if it is empty.
    `tolerance` is relative to the largest magnitude of a result, where it is above that of the dtype; `computes` are
    MXNet operators that must be among those written, `wanted` all of them in order; `evaluator` takes onnx's own
    evaluator for the expected numbers; `widened` says that MXNet holds the results in a wider dtype, `onednn` that its
    CPU build has the operator through oneDNN only. `expected` are the numbers where neither onnxruntime nor onnx
    computes them. The axis `batch_axis` of the inputs `batch` is of open size.
    """

    name: str
    op: str
    attrs: Mapping[str, Any]
    data: Mapping[str, Array]
    held: Mapping[str, Array] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    outputs: int = 1
    opset: int = 22
    tolerance: float = 0.0
    computes: tuple[str, ...] = ()
    wanted: tuple[str, ...] | None = None
    evaluator: bool = False
    widened: bool = False
    onednn: bool = False
    expected: tuple[Array, ...] = ()
    batch: tuple[str, ...] = ()
    batch_axis: int = 0

    @property
    def label(self) -> str:
        """What tests call it."""
        name = self.name if self.name.startswith(self.op) else f"{self.op} {self.name}"
        return f"{name} open" if self.batch else name

    @property
    def model(self) -> onnx.ModelProto:
        """The model of this one operator. An output without axes gets one, since MXNet has no such tensors."""
        names = self.inputs or (*self.data, *self.held)
        results = [f"y{slot}" for slot in range(self.outputs)]
        nodes = [helper.make_node(self.op, names, results, name="op", **self.attrs)]
        given = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), self._sizes(name))
            for name, array in self.data.items()
        ]
        held = [numpy_helper.from_array(array, name) for name, array in self.held.items()]
        graph = helper.make_graph(nodes, "row", given, [onnx.ValueInfoProto(name=name) for name in results], held)
        opset = helper.make_opsetid("", self.opset)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=NEWEST_IR)
        types = {value.name: value.type for value in from_model(model.SerializeToString()).outputs}
        for slot, name in enumerate(results):
            kind = helper.np_dtype_to_tensor_dtype(np.dtype(present(tensor_type(types[name]).dtype).numpy()))
            output = model.graph.output[slot]
            output.CopyFrom(helper.make_tensor_value_info(name, kind, None))
            if tensor_type(types[name]).shape == ():
                model.graph.initializer.append(numpy_helper.from_array(np.array([1], np.int64), f"{name}_shape"))
                model.graph.node.append(helper.make_node("Reshape", [name, f"{name}_shape"], [f"{name}_1"]))
                output.name = f"{name}_1"
        return model

    def _sizes(self, name: str) -> list[int | str]:
        sizes: list[int | str] = list(self.data[name].shape)
        if name in self.batch:
            sizes[self.batch_axis] = "N"
        return sizes

    def numbers(self) -> list[Array]:
        """What the operator makes of the data."""
        return list(self.expected) or onnx_outputs(self.model, self.data, self.evaluator)


OPTIONS = ("tolerance", "wanted", "onednn")


def row(name: str, op: str, *operands: Any, constants: Sequence[int] = (), **more: Any) -> Row:
    """A row of the operands x0, x1, ...; None is absent. `constants` are initializers, as are operands without axes.

    `more` are the operator's attributes, how many `results` there are, the `opset`, and what else a Row says (OPTIONS).
    """
    options = {option: more.pop(option) for option in OPTIONS if option in more}
    results, opset = more.pop("results", 1), more.pop("opset", 21)
    arrays = [None if operand is None else np.asarray(operand) for operand in operands]
    given = {slot: array for slot, array in enumerate(arrays) if array is not None}
    held = {f"x{slot}": array for slot, array in given.items() if slot in constants or not array.shape}
    data = {f"x{slot}": array for slot, array in given.items() if f"x{slot}" not in held}
    inputs = tuple(f"x{slot}" if slot in given else "" for slot in range(len(arrays)))
    return Row(name, op, more, data, held, inputs, results, opset, **options)


def onnxruntime_outputs(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    """What onnxruntime computes, without optimisations."""
    return list(run_model(model, feeds, optimize=False).values())


def onnx_outputs(model: onnx.ModelProto, feeds: Mapping[str, Array], evaluator: bool = False) -> list[Array]:
    """What onnxruntime computes, or onnx's own evaluator if asked for or where onnxruntime has no kernel."""
    if not evaluator:
        try:
            return onnxruntime_outputs(model, feeds)
        except NotImplemented:
            pass
    return [np.asarray(output) for output in ReferenceEvaluator(model).run(None, dict(feeds))]


def operators(text: str) -> list[str]:
    """MXNet's operators in order."""
    return [node["op"] for node in json.loads(text)["nodes"] if node["op"] != "null"]


@dataclass(frozen=True)
class Written:
    """A row's graph and what it became in MXNet."""

    graph: Graph
    text: str
    params: dict[str, Array]

    @property
    def operators(self) -> list[str]:
        """The MXNet operators in order."""
        return operators(self.text)

    def fed(self, data: Mapping[str, Array]) -> dict[str, Array]:
        """All arrays that the symbol wants, in the dtypes that it states."""
        arguments, states, _ = split_prefixes(self.params)
        wanted = {
            node["name"]: HELD[int(node.get("attrs", {}).get("__dtype__", 0))]
            for node in json.loads(self.text)["nodes"]
            if node["op"] == "null"
        }
        given = {name: array.astype(wanted[name]) for name, array in data.items() if name in wanted}
        return {name: array for name, array in (arguments | states).items() if name in wanted} | given


def written(source: Row) -> Written:
    """The row written for MXNet."""
    graph = from_model(source.model.SerializeToString())
    return Written(graph, *to_symbol(graph))


def mxnet_outputs(
    live: Live | LivePair, text: str, params: Mapping[str, Array], feeds: Mapping[str, Array]
) -> list[Array]:
    """What live MXNet computes. Skips where there is no MXNet, unless it is required."""
    names = [node["name"] for node in json.loads(text)["nodes"] if node["op"] == "null"]
    with needing("MXNet"):
        return list(live.run(text, {name: params[name] if name in params else feeds[name] for name in names}).values())


def read_again(
    text: str, params: Mapping[str, Array], feeds: Mapping[str, Array], opset: int | None = None
) -> list[Array]:
    """What onnxruntime computes of the symbol as this project reads it."""
    return _read_again(text, params, feeds, opset)[0]


def _read_again(
    text: str, params: Mapping[str, Array], feeds: Mapping[str, Array], opset: int | None
) -> tuple[list[Array], bool]:
    """`read_again`, and whether the export says that it computes float64 in float32, for want of a kernel."""
    names = {node["name"] for node in json.loads(text)["nodes"] if node["op"] == "null"}
    data = {name: array for name, array in feeds.items() if name in names}
    shapes = {name: array.shape for name, array in data.items()}
    dtypes = {name: array.dtype for name, array in data.items()}
    graph = from_symbol(text, dict(params), shapes, dtypes=dtypes, strict=True)
    model = to_model(graph, opset=opset)
    return onnx_outputs(model, data), any(made.kind == "dtype" for made in graph.decisions)


def check_live(source: Row, live: Live) -> None:
    """Live MXNet computes what onnxruntime does."""
    found = written(source)
    results = mxnet_outputs(live, found.text, found.fed(source.data), {})
    assert difference(results, source.numbers(), source.tolerance, source.widened) == ""


def check_reference(source: Row) -> None:
    """The numpy reference makes of the symbol what onnxruntime makes of the model."""
    found = written(source)
    results = list(evaluate(read_symbol(found.text), found.fed(source.data)).values())
    assert difference(results, source.numbers(), source.tolerance, source.widened) == ""


def check_read_back(source: Row) -> None:
    """The written symbol, read by graphir and written as ONNX again, computes what the original does."""
    found = written(source)
    fed = found.fed(source.data)
    feeds = {name: array for name, array in fed.items() if name in source.data}
    weights = {name: array for name, array in found.params.items() if name.partition(":")[2] in fed}
    opset = max(source.opset, 22) if source.opset <= NEWEST_RUN else NEWEST_RUN
    results, narrowed = _read_again(found.text, weights, feeds, opset)
    tolerance = max(source.tolerance, LIMITS["float32"]) if narrowed else source.tolerance
    if tolerance:
        results = _as_narrowed(results, source.numbers())
    assert difference(results, source.numbers(), tolerance, source.widened) == ""


def _as_narrowed(found: Sequence[Array], expected: Sequence[Array]) -> list[Array]:
    """Integers cut from floats that rounding moved by one are as expected; all else as found."""
    return [
        np.where(np.abs(one.astype(np.int64) - other.astype(np.int64)) <= 1, other, one)
        if one.dtype.kind in "iu" and one.shape == other.shape and one.dtype == other.dtype else one
        for one, other in zip(found, expected, strict=False)
    ]  # fmt: skip


def difference(
    found: Sequence[Array], expected: Sequence[Array], tolerance: float = 0.0, widened: bool = False
) -> str:
    """What differs, "" if nothing does: integers at all, floats beyond the tolerance of the largest magnitude."""
    if len(found) != len(expected):
        return f"{len(found)} results, expected {len(expected)}"
    if widened:
        found = [one.astype(other.dtype) for one, other in zip(found, expected, strict=True)]
    return "; ".join(filter(None, map(_difference, found, expected, [tolerance] * len(found))))


def _difference(found: Array, expected: Array, tolerance: float) -> str:
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        return f"{found.dtype}{found.shape}, expected {expected.dtype}{expected.shape}"
    left, right = found, expected
    if expected.dtype.kind not in "fc":
        wrong = int((left != right).sum())
        shown = f"{left.reshape(-1)[:6]}, expected {right.reshape(-1)[:6]}"
        return f"{wrong} of {right.size} differ: {shown}" if wrong else ""
    left, right = left.astype(np.float64), right.astype(np.float64)
    odd = ~np.isfinite(right)
    if not np.array_equal(left[odd], right[odd], equal_nan=True) or not np.isfinite(left[~odd]).all():
        return f"{left.reshape(-1)[:6]}, expected {right.reshape(-1)[:6]}"
    scale = max(float(np.abs(right[~odd]).max(initial=0.0)), 1e-30)
    error = float(np.abs(left[~odd] - right[~odd]).max(initial=0.0)) / scale
    limit = max(LIMITS.get(str(expected.dtype), 0.0), tolerance)
    return f"relative difference {error:.3g} above {limit:g}" if error > limit else ""


__all__ = [
    "Array", "Row", "Written", "check_live", "check_read_back", "check_reference", "difference", "integers",
    "mxnet_outputs", "normal", "onnx_outputs", "onnxruntime_outputs", "operators", "read_again", "row", "written",
]  # fmt: skip
