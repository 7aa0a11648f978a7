"""`mx.sym.contrib`: contributed operators, and control flow: `foreach`, `while_loop`, `cond`."""

from __future__ import annotations

import math
from typing import Any

from graphir.converters.mxnet.mx.ndarray.control import isfinite, isinf, isnan
from graphir.converters.mxnet.mx.symbol.control_flow import cond, foreach, while_loop
from graphir.converters.mxnet.mx.symbol.functions import lookup
from graphir.converters.mxnet.mx.symbol.random import uniform
from graphir.converters.mxnet.mx.symbol.symbol import Symbol

_operator, _operators = lookup("contrib", Symbol)


def rand_zipfian(true_classes: Symbol, num_sampled: int, range_max: int) -> tuple[Symbol, Symbol, Symbol]:
    """Class numbers below `range_max`, small ones oftener, about as Zipf's law has them.

    Gives the numbers, and how often the true and the sampled classes are expected among them.
    """
    whole = math.log(range_max + 1)
    sampled = (uniform(0, whole, shape=(num_sampled,), dtype="float64").exp() - 1).astype("int64") % range_max

    def expected(classes: Symbol) -> Symbol:
        return ((classes + 2.0) / (classes + 1.0)).log() / whole * num_sampled  # type: ignore[no-any-return]

    counts_of_true = expected(true_classes.astype("float64"))
    return sampled, counts_of_true, expected(sampled.astype("float64"))


def __getattr__(name: str) -> Any:
    return _operator(name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_operators()})


__all__ = ["cond", "foreach", "isfinite", "isinf", "isnan", "rand_zipfian", "while_loop"]
