"""Every operator of `mx.sym` on arrays: composed as a symbol, and computed by the reference evaluator where the arrays
are small, else converted and run by onnxruntime."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.converters.mxnet.mx import attribute
from graphir.converters.mxnet.mx.base import MXNetError, _Null
from graphir.converters.mxnet.mx.context import Context, context_of
from graphir.converters.mxnet.mx.name import NameManager
from graphir.converters.mxnet.mx.ndarray.array import NDArray
from graphir.converters.mxnet.mx.running import (
    BoundSymbol,
    evaluate_heads,
    evaluate_node,
    nodes_to_evaluate,
    only_node,
)
from graphir.converters.mxnet.mx.symbol import Symbol, var
from graphir.converters.mxnet.mx.symbol.arithmetic import METHODS
from graphir.converters.mxnet.reference.evaluate import read_inputs, reference_of
from graphir.errors import GraphirError

MORE_METHODS = frozenset(("diag", "expand_dims", "flatten", "split_v2", "squeeze"))
KEPT = 512
"""How many sessions are kept for calls of the same operator with the same attributes, shapes and dtypes, and how many
functions that were composed."""
LIGHT = 1 << 14
"""The elements of all arrays up to which numpy takes milliseconds at most for an operator; a session takes tens."""
MANY = 1 << 20
"""The same for operators that the reference computes by few calls of numpy for all elements."""
WHOLE_ARRAYS = frozenset((
    "activation", "elementwise", "elementwise_unary", "indexing", "reduction", "shape", "shape_parts",
))  # fmt: skip
"""The reference's families of such operators."""
ELEMENT_BY_ELEMENT = frozenset(("LeakyReLU", "erf", "erfinv", "gamma", "gammaln", "one_hot", "pick", "topk"))
"""Operators of these families that take 50 times onnxruntime's time there."""

_known: OrderedDict[tuple[object, ...], list[_Call]] = OrderedDict()
_sessions: OrderedDict[tuple[object, ...], Any] = OrderedDict()


class NotAnArray(GraphirError, TypeError, AssertionError):
    """A symbol was given where an array is needed."""


def eager(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of `mx.nd` that does with arrays what one of `mx.sym` does with symbols.

    It gives an array, or a list of them. Raises MXNetError for an array that the operator needs and does not get, and
    what the symbol's function raises.
    """

    def called(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        result = _computed(function, args, kwargs)
        return result if out is None else _written(result, out)

    called.__name__ = called.__qualname__ = getattr(function, "__name__", "operator")
    called.__doc__ = getattr(function, "__doc__", None)
    return called


def method(name: str) -> Callable[..., Any]:
    """Return the function behind a method that NDArray and Symbol both have. Raises AttributeError for another name."""
    if name not in METHODS and name not in MORE_METHODS:
        raise AttributeError(f"an NDArray has no {name!r}")
    return eager(getattr(Symbol, name))


class _Call(NamedTuple):
    """A function of `mx.sym` composed of variables that stand for arrays: `array0`, `array1`, ..."""

    name: str
    records: NNVMGraph
    inputs: tuple[str, ...]
    text: str
    needed: set[int] | None
    """The nodes that the reference evaluator computes, None if it does not know one."""
    node: NNVMNode | None
    """The only node, if it reads nothing but arrays."""
    reads: tuple[str, ...]
    """The arrays that it reads."""
    is_quick: bool
    """Whether MANY elements are few."""


def _computed(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    arrays: dict[str, NDArray] = {}

    def stand_in(value: Any) -> Any:
        if isinstance(value, Symbol):
            raise NotAnArray(f"an operator of mx.nd computes arrays, got {value!r}; mx.sym composes symbols")
        if not isinstance(value, NDArray):
            return value
        name = f"array{len(arrays)}"
        arrays[name] = value
        return _Variable(name)

    kwargs.pop("name", None)
    context = kwargs.pop("ctx", None)
    calls = _calls(function, [stand_in(value) for value in args], {key: stand_in(kwargs[key]) for key in kwargs})
    results = [_run(call, arrays, context) for call in calls]
    return results if len(results) > 1 else results[0]


class _Variable(str):
    """The name of the variable that stands for an array."""

    __slots__ = ()


def _calls(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> list[_Call]:
    """Return what the function composes, one call for each symbol. Of plain arguments it is composed once."""
    values = [*args, *kwargs.values()]
    if not all(map(_is_plain, values)):
        return _composed(function, args, kwargs)
    key = (function, repr([(type(value), value) for value in values]), len(args), *kwargs)
    calls = _known.pop(key, None) or _composed(function, args, kwargs)
    _known[key] = calls  # another thread may take it out at any time
    if len(_known) > KEPT:
        _known.popitem(last=False)
    return calls


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or value is _Null or isinstance(value, str | int | float | type | np.dtype | np.generic)


def _composed(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> list[_Call]:
    def variable(value: Any) -> Any:
        return var(str(value)) if isinstance(value, _Variable) else value

    with NameManager(), attribute.AttrScope():
        composed = function(*map(variable, args), **{key: variable(value) for key, value in kwargs.items()})
    return [_call(symbol) for symbol in (composed if isinstance(composed, list) else [composed])]


def _call(composed: Symbol) -> _Call:
    records = composed.records()
    needed, node = nodes_to_evaluate(records), only_node(records)
    reads = () if node is None else tuple(records.nodes[index].name for index, _ in read_inputs(node))
    return _Call(
        str(composed.name), records, tuple(composed.list_inputs()), composed.tojson(remove_amp_cast=False), needed,
        None if needed is None else node, reads, needed is not None and all(map(_is_quick, records.nodes)),
    )  # fmt: skip


def _is_quick(node: NNVMNode) -> bool:
    reference = reference_of(node)
    function = reference.func if isinstance(reference, partial) else reference
    family = getattr(function, "__module__", "").rpartition(".")[2]
    return node.op == VARIABLE or (family in WHOLE_ARRAYS and node.op not in ELEMENT_BY_ELEMENT)


def _run(call: _Call, arrays: dict[str, NDArray], context: Any) -> Any:
    missing = next((name for name in call.inputs if name not in arrays), None)
    if missing is not None:
        raise MXNetError(f"{call.name} needs the array {missing.removeprefix(f'{call.name}_')}, give it too")
    device = context_of(next((array.context for array in arrays.values()), context))
    most = MANY if call.is_quick else LIGHT
    if call.needed is None or device.device_type == "gpu" or sum([array.size for array in arrays.values()]) > most:
        outputs = _outputs(call, arrays, device)
    elif call.node is None:
        outputs = evaluate_heads(call.records, call.needed, arrays)
    else:
        outputs = evaluate_node(call.records, call.node, [arrays[name] for name in call.reads])
    results = [NDArray(output, device, is_own=len(outputs) == 1) for output in outputs]
    return results[0] if len(results) == 1 else results


def _outputs(call: _Call, arrays: dict[str, NDArray], device: Context) -> list[Any]:
    """Return the outputs by onnxruntime, whose sessions are kept."""
    types = tuple((array.shape, str(array.dtype)) for array in arrays.values())
    key = (call.text, types, device)
    network = _sessions.pop(key, None) or BoundSymbol(call.records, arrays, device, constants=False)
    try:
        outputs: list[Any] = network.run_with(arrays)
    except GraphirError:
        # some operators are converted with the values of their weights only
        return BoundSymbol(call.records, arrays, device).run()
    if network.draws:  # the next session is seeded anew
        return outputs
    network.arrays = {}
    _sessions[key] = network
    while len(_sessions) > KEPT:
        _sessions.popitem(last=False)
    return outputs


def _written(found: Any, out: Any) -> Any:
    results, targets = (value if isinstance(value, list | tuple) else [value] for value in (found, out))
    for result, target in zip(results, targets, strict=True):
        result.astype(target.dtype, copy=False).copyto(target)
    return out
