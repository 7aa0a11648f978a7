"""Symbols that begin a graph: variables, constants, and MXNet's functions that take symbols or plain numbers."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Number
from typing import Any

import numpy as np

from graphir.converters.mxnet.files.records import VARIABLE
from graphir.converters.mxnet.mx import attribute
from graphir.converters.mxnet.mx.arithmetic import OPERATIONS
from graphir.converters.mxnet.mx.symbol.functions import Function, attribute_text, namespace
from graphir.converters.mxnet.mx.symbol.node import SymbolNode
from graphir.converters.mxnet.mx.symbol.symbol import Symbol
from graphir.converters.mxnet.schema.values import TYPE_FLAGS

STORAGE = {"undefined": -1, "default": 0, "row_sparse": 1, "csr": 2}
FLAGS = {name: flag for flag, name in TYPE_FLAGS.items()}


def var(
    name: str,
    attr: Mapping[str, str] | None = None,
    shape: Any = None,
    lr_mult: float | None = None,
    wd_mult: float | None = None,
    dtype: Any = None,
    init: Any = None,
    stype: str | None = None,
    **kwargs: Any,
) -> Symbol:
    """Return a variable: an input, a parameter or a state, whatever reads it decides.

    `shape`, `dtype` and what training asks of it become `__key__` attributes; `init` is text or has `dumps()`. Further
    attributes are `__key__`s too. Raises TypeError for a name that is no text and ValueError for other keys.
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a variable is text, got {name!r}: expect a string for variable `name`")
    variable = Symbol([(SymbolNode(VARIABLE, name, {}, []), 0, 0)])
    attrs = attribute.current().get(attr)
    stated = {"shape": shape, "lr_mult": lr_mult, "wd_mult": wd_mult}
    attrs.update({f"__{key}__": attribute_text(value) for key, value in stated.items() if value is not None})
    if dtype is not None:
        attrs["__dtype__"] = str(_flag(dtype))
    if init is not None:
        attrs["__init__"] = init if isinstance(init, str) else init.dumps()
    if stype is not None:
        attrs["__storage_type__"] = str(STORAGE[stype])
    for key, value in kwargs.items():
        if not (key.startswith("__") and key.endswith("__")):
            raise ValueError(f"a variable has no attribute {key}; attributes of one's own are like __{key}__")
        attrs[key] = str(value)
    variable._set_attr(**attrs)
    return variable


Variable = var


def internal(called: str) -> Function:
    """Return a function of `mx.sym._internal`."""
    return namespace("_internal", Symbol).get(called)


def _flag(dtype: Any) -> int:
    known = np.dtype(dtype)
    name = known.names[0] if known.names else known.name
    if name not in FLAGS:
        raise TypeError(f"MXNet has no dtype {name}; it has {', '.join(FLAGS)}")
    return FLAGS[name]


def _of_two(name: str, left: Any, right: Any) -> Any:
    """Return an operator on two symbols, a symbol and a number, or the other way round; two numbers are computed."""
    both, with_right, with_left = OPERATIONS[name].symbols
    if isinstance(left, Symbol) and isinstance(right, Symbol):
        return internal(both)(left, right)
    if isinstance(left, Symbol) and isinstance(right, Number):
        return internal(with_right)(left, scalar=right)
    if isinstance(left, Number) and isinstance(right, Symbol):
        return internal(with_left)(right, scalar=left)
    if isinstance(left, Number) and isinstance(right, Number):
        return OPERATIONS[name].numbers(left, right)
    raise TypeError(f"types ({type(left)}, {type(right)}) not supported: expected symbols or numbers")


def pow(base: Any, exp: Any) -> Any:  # noqa: A001
    """`base` to the power of `exp`: symbols or numbers."""
    if isinstance(base, Number) and isinstance(exp, Symbol):
        return internal("_RPowerScalar")(exp, scalar=base)
    return _of_two("power", base, exp)


power = pow


def maximum(left: Any, right: Any) -> Any:
    """Return the larger of both by element: symbols or numbers."""
    return _of_two("maximum", left, right)


def minimum(left: Any, right: Any) -> Any:
    """Return the smaller of both by element: symbols or numbers."""
    return _of_two("minimum", left, right)


def hypot(left: Any, right: Any) -> Any:
    """Return the hypotenuse by element: symbols or numbers."""
    return _of_two("hypot", left, right)


def eye(N: int, M: int = 0, k: int = 0, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Ones on the k-th diagonal of N rows and M columns (as many as rows where M is 0)."""
    return internal("_eye")(N, M, k, dtype=_or_float32(dtype), **kwargs)  # type: ignore[no-any-return]


def zeros(shape: Any, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Zeros, float32 without a `dtype`."""
    return internal("_zeros")(shape=shape, dtype=_or_float32(dtype), **kwargs)  # type: ignore[no-any-return]


def ones(shape: Any, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Ones, float32 without a `dtype`."""
    return internal("_ones")(shape=shape, dtype=_or_float32(dtype), **kwargs)  # type: ignore[no-any-return]


def full(shape: Any, val: float, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Return an array of `val`, float32 without a `dtype`."""
    filled = internal("_full")(shape=shape, dtype=_or_float32(dtype), value=float(val), **kwargs)
    return filled  # type: ignore[no-any-return]


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    name: str | None = None,
    dtype: Any = None,
) -> Symbol:
    """Numbers from `start` to below `stop`, each `repeat` times; one number alone is `stop`."""
    return internal("_arange")(  # type: ignore[no-any-return]
        start=start,
        stop=stop,
        step=step,
        repeat=repeat,
        infer_range=infer_range,
        name=name,
        dtype=_or_float32(dtype),
    )


def linspace(
    start: float, stop: float, num: int, endpoint: bool = True, name: str | None = None, dtype: Any = None
) -> Symbol:
    """`num` numbers from `start` to `stop` in equal steps."""
    return internal("_linspace")(  # type: ignore[no-any-return]
        start=start, stop=stop, num=num, endpoint=endpoint, name=name, dtype=_or_float32(dtype)
    )


def _or_float32(dtype: Any) -> Any:
    return np.float32 if dtype is None else dtype


def histogram(a: Symbol, bins: Any = 10, range: Any = None, **kwargs: Any) -> Any:
    """Return how many elements fall into each of `bins` parts of `range`, or between the edges that a symbol `bins`
    holds."""
    if isinstance(bins, Symbol):
        return internal("_histogram")(data=a, bins=bins, **kwargs)
    if not isinstance(bins, int | np.integer):
        raise ValueError(f"bins is {bins!r}, expected a number of bins or a symbol of their edges")
    if range is None:
        raise ValueError("a number of bins needs their range; a symbol does not know its elements: null range")
    return internal("_histogram")(data=a, bin_cnt=bins, range=range, **kwargs)


def split_v2(
    ary: Symbol, indices_or_sections: int | tuple[int, ...], axis: int = 0, squeeze_axis: bool = False
) -> Symbol:
    """Parts along an axis: so many equal ones, or one from each of the indices on."""
    return ary.split_v2(indices_or_sections, axis, squeeze_axis)  # type: ignore[no-any-return]

__all__ = [
    "Variable", "arange", "eye", "full", "histogram", "hypot", "linspace", "maximum", "minimum", "ones", "pow",
    "power", "split_v2", "var", "zeros",
]  # fmt: skip
