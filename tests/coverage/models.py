"""The models that are compared, with the types that all their values have when they run."""

from __future__ import annotations

import functools
import importlib.util
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.inliner
import onnxruntime

from graphir.converters.mxnet.source import open_source
from graphir.converters.onnx import to_model
from graphir.types import DType, TensorType
from tests.onnx_backend import NEWEST_IR, Sample, samples
from tests.typed import untyped

SMALL = 64
"""Inputs of up to so many elements may be given as constants."""

TYPES = {
    "float": DType.FLOAT32, "double": DType.FLOAT64, "float8e4m3fnuz": DType.FLOAT8E4M3FNUZ,
    **{name: DType(name) for name in (
        "float16", "bfloat16", "float8e4m3fn", "float8e5m2", "float8e5m2fnuz", "int4", "uint4", "int8", "int16",
        "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "string", "complex64", "complex128",
    )},
}  # fmt: skip
"""onnxruntime's names of element types."""


@dataclass(frozen=True)
class Case:
    """A model that states no type but those of its inputs, what it is fed with, and what its values then are.

    `sizes` says what the names of dimensions stand for. Values that are no tensors are left out.
    """

    kind: str
    name: str
    model: Any
    feeds: Mapping[str, Any]
    truth: Mapping[str, TensorType]
    sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def inputs(self) -> list[Any]:
        """The inputs that have to be fed."""
        held = {tensor.name for tensor in self.model.graph.initializer}
        return [info for info in self.model.graph.input if info.name not in held]


def bare(model: Any) -> Any:
    """The model with its own functions inlined, and without any type that it states beside those of its inputs."""
    made = onnx.ModelProto()
    made.CopyFrom(onnx.inliner.inline_local_functions(model) if model.functions else model)
    del made.graph.value_info[:]
    for info in made.graph.output:
        info.ClearField("type")
    return made


def run_whole(model: Any, feeds: Mapping[str, Any]) -> dict[str, TensorType]:
    """The types of all values that nodes of the main graph give, from one run. Raises what onnxruntime raises."""
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    whole.ir_version = min(whole.ir_version, NEWEST_IR)
    del whole.graph.output[:]
    names = list(dict.fromkeys(name for node in whole.graph.node for name in node.output if name))
    whole.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(whole.SerializeToString(), options, providers=["CPUExecutionProvider"])
    stated = {info.name: info.type for info in session.get_outputs()}
    if any(isinstance(feed, onnxruntime.OrtValue) for feed in feeds.values()) or _is_odd_type(stated.values()):
        values = {
            name: feed if isinstance(feed, onnxruntime.OrtValue) else onnxruntime.OrtValue.ortvalue_from_numpy(feed)
            for name, feed in feeds.items()
        }
        found = dict(zip(stated, session.run_with_ort_values(None, values), strict=True))
        shapes = {name: tuple(value.shape()) for name, value in found.items() if value.is_tensor()}
    else:
        arrays = zip(stated, session.run(None, dict(feeds)), strict=True)
        shapes = {name: array.shape for name, array in arrays if isinstance(array, np.ndarray)}
    elements = {name: text.removeprefix("tensor(").removesuffix(")") for name, text in stated.items()}
    return {
        name: TensorType(TYPES[elements[name]], shapes[name])
        for name in names
        if name in shapes and elements[name] in TYPES
    }


def _is_odd_type(types: Any) -> bool:
    return any(part in text for text in types for part in ("bfloat16", "float8", "int4"))


def _feed(feed: Any, info: Any) -> Any:
    feed = onnx.numpy_helper.to_array(feed) if isinstance(feed, onnx.TensorProto) else feed
    feed = np.asarray(feed) if isinstance(feed, np.generic) else feed
    if isinstance(feed, np.ndarray) and feed.dtype.type.__module__.startswith("ml_dtypes"):
        bits = feed.view(np.uint16 if feed.dtype.itemsize == 2 else np.uint8)
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, info.type.tensor_type.elem_type)
    return feed


@functools.cache
def suite() -> tuple[Case, ...]:
    """onnx's backend suite, run once for all that ask. What onnxruntime cannot run has the outputs that the suite
    expects, and nothing between."""
    return tuple(_of_suite(sample) for sample in samples() if sample.data)


def _of_suite(sample: Sample) -> Case:
    feeds, expected = sample.data[0]
    held = {tensor.name for tensor in sample.model.graph.initializer}
    infos = [info for info in sample.model.graph.input if info.name not in held]
    outputs = [info.name for info in sample.model.graph.output]
    model = bare(sample.model)
    given = {info.name: _feed(feed, info) for feed, info in zip(feeds, infos, strict=False)}
    try:
        truth = run_whole(model, given)
    except Exception:  # onnxruntime raises errors of many kinds; the suite knows the outputs itself
        truth = {
            name: TensorType(DType.of(value.dtype), value.shape)
            for name, value in zip(outputs, map(_array, expected), strict=False)
            if isinstance(value, np.ndarray)
        }
    return named(Case(sample.kind, sample.name, model, given, truth))


def _array(value: Any) -> Any:
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def shared_models(shared: Path) -> Iterator[Case]:
    """The real models, those of MXNet exported."""
    for folder in sorted((shared / "models" / "onnx").iterdir()):
        facts = json.loads((folder / "golden.json").read_text())
        if facts["ran"]:
            model = bare(onnx.load(folder / "model.onnx"))
            yield _ran("onnx", folder, model)
    spec = importlib.util.spec_from_file_location("rand_params", shared / "models" / "rand_params.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for folder in (*(shared / "models" / "mxnet").iterdir(), *(shared / "models" / "mxnet_symbol_only").iterdir()):
        if (folder / "golden.npz").exists():
            yield _ran("mxnet", folder, bare(_exported(folder, module.rand_param)))


def _exported(folder: Path, rand_param: Any) -> Any:
    facts = json.loads((folder / "golden.json").read_text())
    weights: Any = folder / "model-0000.params"
    if not weights.exists():
        stated = {**facts["arg_shapes"], **(facts.get("aux_shapes") or {})}
        fed = {*facts["inputs"], *(facts.get("zero_inputs") or ())}
        weights = {name: rand_param(name, tuple(shape)) for name, shape in stated.items() if name not in fed}
    source = open_source(folder / "model-symbol.json", weights)
    names = {node.name for node in source.symbol.nodes}
    shapes = {name: tuple(shape) for name, shape in facts["inputs"].items() if name in names}
    return to_model(source.to_graph(shapes), opset=17)


def _ran(kind: str, folder: Path, model: Any) -> Case:
    with np.load(folder / "golden.npz") as archive:
        stored = {key.partition(":")[2]: archive[key] for key in archive.files if "input:" in key}
    held = {tensor.name for tensor in model.graph.initializer}
    feeds = {info.name: stored[info.name] for info in model.graph.input if info.name not in held}
    return named(Case(kind, folder.name, model, feeds, run_whole(model, feeds)))


def named(case: Case) -> Case:
    """The case with plain names for the named dimensions of its inputs; a name of two sizes is taken away."""
    found: dict[str, set[int]] = {}
    dims = list(_dims(case))
    for dim, size in dims:
        if dim.dim_param:
            found.setdefault(dim.dim_param, set()).add(size)
    names = {old: f"n{place}" for place, old in enumerate(found)}
    for dim, _ in dims:
        if dim.dim_param and len(found[dim.dim_param]) == 1:
            dim.dim_param = names[dim.dim_param]
        elif dim.dim_param:
            dim.ClearField("dim_param")
    sizes = {names[old]: next(iter(held)) for old, held in found.items() if len(held) == 1}
    return Case(case.kind, case.name, case.model, case.feeds, case.truth, sizes)


def with_constants(case: Case) -> Case:
    """The case with its small vectors and scalars that steer shapes (integers, and factors of a Resize) held inside."""
    factors = {
        name for node in case.model.graph.node if node.op_type in ("Resize", "Upsample") for name in node.input[1:]
    }
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    fixed = {
        name: feed
        for name, feed in case.feeds.items()
        if isinstance(feed, np.ndarray) and feed.size <= SMALL and feed.ndim <= 1
        and (feed.dtype.kind in "iub" or name in factors)
    }  # fmt: skip
    for place in reversed(range(len(model.graph.input))):
        if model.graph.input[place].name in fixed:
            del model.graph.input[place]
    model.graph.initializer.extend(onnx.numpy_helper.from_array(feed, name) for name, feed in fixed.items())
    feeds = {name: feed for name, feed in case.feeds.items() if name not in fixed}
    return Case(case.kind, case.name, model, feeds, case.truth, case.sizes)


def with_symbols(case: Case) -> Case:
    """The case with a name for each size of its inputs that is above 1, the same name for equal sizes."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    made = Case(case.kind, case.name, model, case.feeds, case.truth)
    sizes: dict[str, int] = {}
    for dim, size in _dims(made):
        if size > 1:
            dim.dim_param = f"s{size}"
            sizes[dim.dim_param] = size
        else:
            dim.dim_value = size
    return Case(case.kind, case.name, model, case.feeds, case.truth, sizes)


def _dims(case: Case) -> Iterator[tuple[Any, int]]:
    """The dimensions that the inputs state, with their true sizes."""
    for info in case.inputs:
        feed = case.feeds.get(info.name)
        if not info.type.HasField("tensor_type") or not hasattr(feed, "shape"):
            continue
        stated = untyped(feed).shape
        shape: Sequence[int] = stated() if callable(stated) else stated
        dims = info.type.tensor_type.shape.dim
        if len(dims) == len(shape):
            yield from zip(dims, map(int, shape), strict=True)


__all__ = ["Case", "bare", "run_whole", "shared_models", "suite", "with_constants", "with_symbols"]
