"""`mx.executor`: symbols bound to arrays, which `bind`, `simple_bind` and `evaluate` check before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphir.converters.mxnet.importing.symbol_types import SymbolTypes, infer_symbol, unmarked_shape
from graphir.converters.mxnet.mx.base import MXNetError
from graphir.converters.mxnet.mx.context import Context, context_of, provider
from graphir.converters.mxnet.mx.execution import Executor
from graphir.converters.mxnet.mx.ndarray import NDArray, empty
from graphir.converters.mxnet.mx.symbol.node import SymbolNode, post_order, variable_names
from graphir.converters.mxnet.mx.symbol.node_types import InferenceGoal, SymbolInference, infer_nodes
from graphir.errors import GraphirError
from graphir.types import DType, TensorType

if TYPE_CHECKING:
    from graphir.converters.mxnet.mx.symbol import Symbol

Given = Sequence[NDArray | None] | Mapping[str, NDArray] | None
GRAD_REQUESTS = ("null", "write", "add")


def bind(
    symbol: Symbol,
    ctx: Context,
    args: Given,
    args_grad: Given = None,
    grad_req: str | Sequence[str] | Mapping[str, str] = "write",
    aux_states: Given = None,
    group2ctx: Mapping[str, Context] | None = None,
    shared_exec: Executor | None = None,
) -> Executor:
    """Return an executor over arrays that are given, in order or by name; what is written into them is seen.

    `args_grad` and `grad_req` are taken and not used. Raises ValueError for arrays that are missing, TypeError for what
    is no array, and MXNetError for shapes and dtypes that contradict each other and for a GPU that is not there.
    """
    device = _device(ctx)
    order = post_order(symbol.entries)
    names, states = variable_names(order)
    requests = check_requests(names, grad_req)
    arguments = _arrays("args", names, args)
    gradients = None if args_grad is None else [
        None if requests.get(name, "null") == "null" else array
        for name, array in zip(names, _arrays("args_grad", names, args_grad, may_lack=True), strict=True)
    ]
    auxiliary = _arrays("aux_states", states, aux_states or [])
    bound = [held for held in (*arguments, *auxiliary) if held is not None]
    arrays = dict(zip((*names, *states), bound, strict=True))
    types = _types(
        symbol, order, states,
        {name: array.shape for name, array in arrays.items() if array.shape},
        {name: array.tensor.dtype for name, array in arrays.items()},
    )  # fmt: skip
    return Executor(symbol, device, bound[: len(names)], gradients, bound[len(names) :], _outputs(types, device))


def simple_bind(
    symbol: Symbol,
    ctx: Context,
    grad_req: str | Sequence[str] | Mapping[str, str] = "write",
    type_dict: Mapping[str, object] | None = None,
    stype_dict: Mapping[str, str] | None = None,
    group2ctx: Mapping[str, Context] | None = None,
    shared_arg_names: Sequence[str] | None = None,
    shared_exec: Executor | None = None,
    shared_buffer: dict[str, NDArray] | None = None,
    **kwargs: Any,
) -> Executor:
    """Return an executor over arrays of zeros, whose shapes and dtypes follow from those of the inputs, given by name.

    Arrays of `shared_exec` are shared where name, shape and dtype are the same. Raises MXNetError where shapes stay
    open or contradict each other, and for a GPU that is not there.
    """
    device = _device(ctx)
    order = post_order(symbol.entries)
    names, states = variable_names(order)
    known = set(names) | set(states)
    try:
        requests = check_requests(names, grad_req)
        shapes = {name: tuple(shape) for name, shape in kwargs.items() if name in known}
        dtypes = {name: dtype for name, dtype in (type_dict or {}).items() if name in known}
        types = _types(symbol, order, states, shapes, dtypes)
        _refuse_open(types)
    except (GraphirError, ValueError) as error:
        given = "".join(f"\n{name}: {shape}" for name, shape in kwargs.items())
        raise MXNetError(f"simple_bind cannot bind the arguments{given}\n{error}") from error
    shared = {} if shared_exec is None else shared_exec.arg_dict | shared_exec.aux_dict
    arguments = [_zeros(name, types.arguments[name], device, shared) for name in names]
    auxiliary = [_zeros(name, types.auxiliary[name], device, shared) for name in states]
    gradients = [
        None if requests.get(name, "null") == "null" else empty(array.shape, device, array.dtype)
        for name, array in zip(names, arguments, strict=True)
    ]
    return Executor(symbol, device, arguments, gradients, auxiliary, _outputs(types, device))


def evaluate(symbol: Symbol, ctx: Context | None = None, **kwargs: NDArray) -> list[NDArray]:
    """Return the outputs for arrays given by name. Raises what `bind` and `Executor.forward` raise."""
    return bind(symbol, context_of(ctx), kwargs).forward()


def check_requests(names: Sequence[str], grad_req: str | Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    """Return what is asked for of gradients by argument: `null`, `write` or `add`. Raises ValueError for anything
    else."""
    if isinstance(grad_req, str):
        requests = dict.fromkeys(names, grad_req)
    elif isinstance(grad_req, Mapping):
        requests = dict(grad_req)
    elif len(grad_req) != len(names):
        raise ValueError(f"grad_req has {len(grad_req)} entries, the symbol {len(names)} arguments")
    else:
        requests = dict(zip(names, grad_req, strict=True))
    wrong = next((request for request in requests.values() if request not in GRAD_REQUESTS), None)
    if wrong is not None:
        raise ValueError(f"grad_req is {wrong!r}, expected {', '.join(GRAD_REQUESTS)}")
    return requests


def _device(ctx: object) -> Context:
    if not isinstance(ctx, Context):
        raise TypeError(f"expected a Context, such as mx.cpu(), got {ctx!r}")
    provider(ctx)
    return ctx


def _arrays(what: str, names: Sequence[str], given: Given, *, may_lack: bool = False) -> list[Any]:
    """Return the arrays in the order of the names; None for one that may be missing and is."""
    if isinstance(given, Mapping):
        missing = next((name for name in names if name not in given), None)
        if missing is not None and not may_lack:
            raise ValueError(f"key `{missing}` is missing in `{what}`")
        arrays: list[Any] = [given.get(name) for name in names]
    elif isinstance(given, list | tuple):
        if len(given) != len(names):
            raise ValueError(
                f"{what} has {len(given)} entries for {len(names)} arguments ({', '.join(names)})"
            )
        arrays = list(given)
    else:
        arrays = [given]
    if not all(isinstance(array, NDArray) or (array is None and may_lack) for array in arrays):
        raise TypeError(f"{what}: only a list of NDArrays or a dict of NDArrays by name is accepted")
    return arrays


def _types(
    symbol: Symbol, order: Sequence[SymbolNode], states: Sequence[str], shapes: Mapping[str, Sequence[int]],
    dtypes: Mapping[str, object],
) -> SymbolTypes:  # fmt: skip
    try:
        unmarked = {name: unmarked_shape(shape, False) for name, shape in shapes.items()}
        known_shapes = {name: shape for name, shape in unmarked.items() if shape is not None}
        known_dtypes = {name: DType.of(dtype) for name, dtype in dtypes.items()}
        types = infer_nodes(
            order,
            symbol.entries,
            states,
            SymbolInference(InferenceGoal.BOTH, symbol.np_shape),
            known_shapes,
            known_dtypes,
        ) or infer_symbol(symbol.records(), shapes, dtypes, np_shape=False)
    except GraphirError as error:
        raise MXNetError(str(error)) from error
    for group in (types.arguments, types.auxiliary):
        for name, type_ in group.items():
            if type_.shape is None and shapes.get(name):  # nothing that is computed depends on it
                group[name] = TensorType(type_.dtype, tuple(shapes[name]))
    return types


def _refuse_open(types: SymbolTypes) -> None:
    open_ones = [
        f"{name}: {type_.shape}" for name, type_ in (types.arguments | types.auxiliary).items() if not _is_known(type_)
    ]
    if open_ones:
        raise MXNetError(
            f"the shapes of these arguments do not follow from what is given: {', '.join(open_ones)}; "
            "give the shapes of the inputs by name, as in data=(1, 3, 224, 224)"
        )


def _is_known(type_: TensorType) -> bool:
    return type_.shape is not None and all(isinstance(size, int) for size in type_.shape)


def _zeros(name: str, type_: TensorType, ctx: Context, shared: Mapping[str, NDArray]) -> NDArray:
    dtype = (type_.dtype or DType.FLOAT32).numpy()
    shape = tuple(int(size) for size in type_.shape or ())  # type: ignore[arg-type]
    array = shared.get(name)
    if array is not None and array.shape == shape and array.dtype is dtype.type:
        return array
    return empty(shape, ctx, dtype)


def _outputs(types: SymbolTypes, ctx: Context) -> list[NDArray]:
    """Arrays for the outputs, none if some shape is known only after a run."""
    if not all(_is_known(type_) for type_ in types.outputs):
        return []
    return [_zeros("", type_, ctx, {}) for type_ in types.outputs]


__all__ = ["Executor", "bind", "check_requests", "evaluate", "simple_bind"]
