"""`mx.nd.contrib.foreach`, `while_loop` and `cond`: loops and branches over arrays, as they come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphir.converters.mxnet.mx.ndarray.array import NDArray


def foreach(body: Callable[[Any, Any], tuple[Any, Any]], data: Any, init_states: Any) -> tuple[Any, Any]:
    """`body(slice, states)` for each slice along the first axis; its outputs stacked, and the last states.

    Raises ValueError for data without slices.
    """
    arrays = [data] if isinstance(data, NDArray) else list(data)
    if not arrays or not len(arrays[0]):
        raise ValueError("foreach needs data with at least one slice along its first axis")
    states = init_states
    rows: list[list[NDArray]] = []
    is_list = False
    for place in range(len(arrays[0])):
        slices = [array[place] for array in arrays]
        output, states = body(slices[0] if isinstance(data, NDArray) else slices, states)
        is_list = isinstance(output, list | tuple)
        rows.append(_listed(output))
    stacked = [_stacked(column) for column in zip(*rows, strict=True)]
    return (stacked if is_list else stacked[0]), states


def while_loop(
    cond: Callable[..., Any], func: Callable[..., tuple[Any, Any]], loop_vars: Any, max_iterations: int | None = None
) -> tuple[Any, Any]:
    """`func(*loop_vars)` as long as `cond(*loop_vars)`; its outputs stacked, and the last variables.

    Outputs have `max_iterations` rows; those of steps that were not taken are zeros. Raises ValueError without it,
    without variables, and for a function that gives another number of them.
    """
    if max_iterations is None:
        raise ValueError("max_iterations should be specified")
    variables = _listed(loop_vars)
    if not variables:
        raise ValueError("there are no loop_vars, expected one at least")
    rows: list[list[NDArray]] = []
    is_list = True
    while len(rows) < max_iterations and bool(cond(*variables)):
        output, new = func(*variables)
        is_list = output is None or isinstance(output, list | tuple)
        rows.append(_listed(output))
        if len(_listed(new)) != len(variables):
            raise ValueError(f"{len(variables)} loop_vars are given, func gives {len(_listed(new))}")
        variables = _listed(new)
    missing = max_iterations - len(rows)
    stacked = [_stacked(column, missing) for column in zip(*rows, strict=True)]
    return stacked if is_list else stacked[0], variables if isinstance(loop_vars, list | tuple) else variables[0]


def cond(pred: Any, then_func: Callable[[], Any], else_func: Callable[[], Any]) -> Any:
    """Return what `then_func()` gives if `pred` is not 0, else what `else_func()` gives."""
    return then_func() if bool(pred) else else_func()


def _listed(given: Any) -> list[Any]:
    return [] if given is None else list(given) if isinstance(given, list | tuple) else [given]


def _stacked(column: Sequence[NDArray], missing: int = 0) -> NDArray:
    whole = np.stack([array.asnumpy() for array in column])
    padding = [(0, missing)] + [(0, 0)] * (whole.ndim - 1)
    return NDArray(np.pad(whole, padding) if missing else whole, column[0].context)


def isinf(data: Any) -> Any:
    """Return 1 where elements are infinite, else 0."""
    return data.abs() == np.inf


def isnan(data: Any) -> Any:
    """Return 1 where elements are NaN, else 0."""
    return data != data


def isfinite(data: Any) -> Any:
    """Return 1 where elements are neither infinite nor NaN, else 0."""
    return (data == data) * (data.abs() != np.inf)


__all__ = ["cond", "foreach", "isfinite", "isinf", "isnan", "while_loop"]
