"""Every operator of `mx.sym` on arrays: composed as a symbol, converted, and run by onnxruntime."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from graphir.converters.mxnet.mx import attribute, symbol
from graphir.converters.mxnet.mx.base import MXNetError
from graphir.converters.mxnet.mx.context import context_of
from graphir.converters.mxnet.mx.name import NameManager
from graphir.converters.mxnet.mx.ndarray.array import NDArray
from graphir.converters.mxnet.mx.running import Network
from graphir.converters.mxnet.mx.symbol import Symbol, var
from graphir.converters.mxnet.mx.symbol.arithmetic import METHODS
from graphir.errors import GraphirError

MORE_METHODS = frozenset(("diag", "expand_dims", "flatten", "split_v2", "squeeze"))
KEPT = 512
"""How many sessions are kept for calls of the same operator with the same attributes, shapes and dtypes."""

_sessions: OrderedDict[tuple[object, ...], Any] = OrderedDict()


class NotAnArray(GraphirError, TypeError, AssertionError):
    """A symbol was given where an array is needed."""


def eager(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of `mx.nd` that does with arrays what one of `mx.sym` does with symbols.

    It gives an array, or a list of them. Raises MXNetError for an array that the operator needs and does not get, and
    what the symbol's function raises.
    """

    def called(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        found = _computed(function, args, kwargs)
        return found if out is None else _written(found, out)

    called.__name__ = called.__qualname__ = getattr(function, "__name__", "operator")
    called.__doc__ = getattr(function, "__doc__", None)
    return called


def method(name: str) -> Callable[..., Any]:
    """The function behind a method that NDArray and Symbol both have. Raises AttributeError for another name."""
    if name not in METHODS and name not in MORE_METHODS:
        raise AttributeError(f"an NDArray has no {name!r}")
    return eager(getattr(symbol, name))


def _computed(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    arrays: dict[str, NDArray] = {}

    def stand_in(value: Any) -> Any:
        if isinstance(value, Symbol):
            raise NotAnArray(f"an operator of mx.nd computes arrays, got {value!r}; mx.sym composes symbols")
        if not isinstance(value, NDArray):
            return value
        name = f"array{len(arrays)}"
        arrays[name] = value
        return var(name)

    kwargs.pop("name", None)
    context = kwargs.pop("ctx", None)
    with NameManager(), attribute.AttrScope():
        made = function(*map(stand_in, args), **{key: stand_in(value) for key, value in kwargs.items()})
    if isinstance(made, list):
        return [_run(held, arrays, context) for held in made]
    return _run(made, arrays, context)


def _run(composed: Symbol, arrays: dict[str, NDArray], context: Any) -> Any:
    lacking = [name for name in composed.list_inputs() if name not in arrays]
    if lacking:
        raise MXNetError(f"{composed.name} needs the array {lacking[0].removeprefix(f'{composed.name}_')}, give it too")
    device = next((array.context for array in arrays.values()), context)
    types = tuple((array.shape, str(array.dtype)) for array in arrays.values())
    key = (composed.tojson(remove_amp_cast=False), types, device)
    outputs = _outputs(composed, arrays, key, device)
    made = [NDArray(output, device) for output in outputs]
    return made[0] if len(made) == 1 else made


def _outputs(composed: Symbol, arrays: dict[str, NDArray], key: tuple[object, ...], device: Any) -> list[Any]:
    network = _sessions.pop(key, None) or Network(composed.records(), arrays, context_of(device), constants=False)
    try:
        found: list[Any] = network.run_with(arrays)
    except GraphirError:
        # some operators are converted with the values of their weights only
        return Network(composed.records(), arrays, context_of(device)).run()
    network.arrays = {}
    _sessions[key] = network
    while len(_sessions) > KEPT:
        _sessions.popitem(last=False)
    return found


def _written(found: Any, out: Any) -> Any:
    results, targets = (held if isinstance(held, list | tuple) else [held] for held in (found, out))
    for result, target in zip(results, targets, strict=True):
        result.astype(target.dtype, copy=False).copyto(target)
    return out


__all__ = ["NotAnArray", "eager", "method"]
