"""The tools that are compared: what each says of the values of a case."""

from __future__ import annotations

import logging
import os
import re
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

import onnx
import onnx.shape_inference

from graphir.converters.onnx import from_model
from graphir.converters.onnx.dtypes import BY_CODE
from graphir.inference import infer_types
from graphir.symbolic.dims import Sym, substitute
from graphir.types import UNKNOWN, Dim, Shape, TensorType, Type

from .models import Case

Found = Mapping[str, TensorType]
Tool = Callable[[Case], Found]


def by_graphir(case: Case) -> Found:
    """graphir's own inference over the imported model."""
    graph = from_model(case.model.SerializeToString())
    types = infer_types(graph)
    found = {name: with_sizes(type_, case.sizes) for name, type_ in types.items()}
    return {name: type_ for name, type_ in found.items() if type_ is not None}


def with_sizes(type_: Type, sizes: Mapping[str, int]) -> TensorType | None:
    """A tensor's type with numbers for names; a size that has other names in it is unknown. None for no tensor."""
    if not isinstance(type_, TensorType):
        return None
    filled = [substitute(dim, sizes) for dim in type_.shape or ()]
    shape: Shape | None = tuple([UNKNOWN if isinstance(dim, Sym) else dim for dim in filled])
    return TensorType(type_.dtype, None if type_.shape is None else shape)


def by_onnx(case: Case) -> Found:
    """onnx's shape inference, with data propagation."""
    model = onnx.shape_inference.infer_shapes(case.model, check_type=False, strict_mode=False, data_prop=True)
    return _stated(model.graph, lambda text: case.sizes.get(text, UNKNOWN))


def by_onnxruntime(case: Case) -> Found:
    """onnxruntime's symbolic shape inference; where it gives up half way, what it had by then."""
    from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

    logging.getLogger("onnxruntime.tools.symbolic_shape_infer").setLevel(logging.CRITICAL + 1)
    run = SymbolicShapeInference(int_max=2**31 - 1, auto_merge=True, guess_output_rank=False, verbose=0)
    with tempfile.TemporaryDirectory() as folder:  # it may leave files where it runs
        before = os.getcwd()
        os.chdir(folder)
        try:
            run._preprocess(case.model)
            while run.run_:
                run._infer_impl()
            run._update_output_from_vi()
        finally:
            os.chdir(before)
            found = _stated(run.out_mp_.graph, lambda text: _evaluated(text, case.sizes)) if run.out_mp_ else {}
            _partial[case.name] = found
    return found


_partial: dict[str, Found] = {}


def _evaluated(text: str, sizes: Mapping[str, int]) -> Dim:
    """What a sympy expression over names gives."""
    import sympy

    if not set(re.findall(r"[A-Za-z_]\w*", text)) <= {*sizes, "floor", "ceiling", "Max", "Min", "Mod"}:
        return UNKNOWN
    found = sympy.sympify(text, locals={name: sympy.Integer(size) for name, size in sizes.items()})
    return int(found) if found.is_Integer else UNKNOWN


def _stated(graph: Any, resolve: Callable[[str], Dim]) -> dict[str, TensorType]:
    """The tensor types that a GraphProto states."""
    found: dict[str, TensorType] = {}
    for info in (*graph.value_info, *graph.output):
        if info.type.HasField("tensor_type"):
            held = info.type.tensor_type
            dims = None
            if held.HasField("shape"):
                dims = tuple([_dim(dim, resolve) for dim in held.shape.dim])
            found[info.name] = TensorType(BY_CODE.get(held.elem_type), dims)
    return found


def _dim(dim: Any, resolve: Callable[[str], Dim]) -> Dim:
    kind = dim.WhichOneof("value")
    if kind == "dim_value":
        return UNKNOWN if dim.dim_value < 0 else int(dim.dim_value)  # some models say -1, and the tools pass it on
    return resolve(dim.dim_param) if kind == "dim_param" else UNKNOWN


def tools() -> dict[str, Tool]:
    """The tools that are installed; onnxruntime's needs sympy."""
    found: dict[str, Tool] = {"graphir": by_graphir, "onnx": by_onnx}
    try:
        import sympy  # noqa: F401
    except ImportError:
        return found
    return {**found, "onnxruntime": by_onnxruntime}


def ask(tool: Tool, case: Case) -> tuple[Found, str]:
    """What a tool says of a case, and its error if it gave up."""
    try:
        return tool(case), ""
    except Exception as error:  # each tool raises errors of its own; giving up is a result
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return _partial.pop(case.name, {}) if tool is by_onnxruntime else {}, text


__all__ = ["Found", "Tool", "ask", "tools", "with_sizes"]
