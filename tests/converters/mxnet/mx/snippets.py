"""The golden snippets of the Symbol API, run on the facade and held to what live MXNet 1.9.1 answered."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from graphir.converters.mxnet import mx


def run(case: dict[str, Any]) -> dict[str, Any]:
    """The names that a snippet defines."""
    held: dict[str, Any] = {"mx": mx, "np": np, "os": os}
    exec(case["code"].replace("from mxnet.gluon import nn", "nn = mx.gluon.nn"), held)
    return held


def answers(case: dict[str, Any], leave_out: tuple[str, ...] = ()) -> dict[str, tuple[object, object]]:
    """What is answered otherwise than by MXNet: by expression what was found and what is expected.

    Expressions with one of these ends are left out. Names count from 0, as in a Python that was just started.
    """
    with mx.name.NameManager():
        names = run(case)
        found = {
            expression: (answered(expression, names), expected(result))
            for expression, result in case["results"].items()
            if not expression.endswith(leave_out)
        }
    return {expression: pair for expression, pair in found.items() if not is_same(*pair)}


def answered(expression: str, names: dict[str, Any]) -> object:
    """What an expression gives, as the golden file writes it; of an error its kind."""
    try:
        return encoded(eval(expression, names))
    except Exception as error:
        return {"__error__": sorted(kind.__name__ for kind in type(error).__mro__)}


def expected(result: Any) -> object:
    """What the golden file holds, errors by their kind."""
    if isinstance(result, dict) and "__error__" in result:
        return {"__error__": result["mro"]}
    return result


def is_same(found: Any, wanted: Any) -> bool:
    """Whether an answer is MXNet's: errors of a kind that scripts catch, numbers within float32's rounding."""
    if isinstance(wanted, dict) and "__error__" in wanted:
        return isinstance(found, dict) and wanted["__error__"][0] in found.get("__error__", ())
    if isinstance(wanted, dict) and "__ndarray__" in wanted:
        return (
            isinstance(found, dict)
            and (found["shape"], found["dtype"]) == (wanted["shape"], wanted["dtype"])
            and np.allclose(found["__ndarray__"], wanted["__ndarray__"], rtol=1e-6, atol=0)
        )
    if isinstance(wanted, list):
        return (
            isinstance(found, list)
            and len(found) == len(wanted)
            and all(is_same(one, other) for one, other in zip(found, wanted, strict=True))
        )
    return bool(found == wanted)


def encoded(value: Any) -> object:
    """A value in the golden file's form."""
    if isinstance(value, mx.nd.NDArray):
        held = value.asnumpy()
        return {"__ndarray__": held.tolist(), "shape": list(held.shape), "dtype": str(held.dtype)}
    if isinstance(value, type):
        return {"__dtype__": np.dtype(value).name}
    if isinstance(value, dict):
        return {str(key): encoded(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [encoded(held) for held in value]
    return value.item() if isinstance(value, np.generic) else value
