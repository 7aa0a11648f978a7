"""Symbols of `mx.sym.np`: Python's operators on them are numpy's, with broadcasting, and so is indexing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from graphir.converters.mxnet.mx.base import MXNetError
from graphir.converters.mxnet.mx.symbol.compose import schema_of
from graphir.converters.mxnet.mx.symbol.functions import namespace
from graphir.converters.mxnet.mx.symbol.node import Outputs
from graphir.converters.mxnet.mx.symbol.symbol import Symbol

SAME = {
    "abs": "absolute",
    "divide": "true_divide",
    "invert": "bitwise_not",
    "max": "amax",
    "min": "amin",
    "remainder": "mod",
    "rad2deg": "degrees",
    "deg2rad": "radians",
    "round": "around",
    "round_": "around",
}
"""Functions of numpy under a name that MXNet's registry has not, and the one that it has."""

MIRRORED = {"greater": "less", "less": "greater", "greater_equal": "less_equal", "less_equal": "greater_equal"}
"""Comparisons and what they are with their operands exchanged."""


def numpy_function(called: str) -> Any:
    """Return the function of numpy: on two symbols or one and a number where the registry has both. None if it has
    none."""
    plain, internal = (namespace(module, NumpySymbol) for module in ("numpy", "numpy._internal"))
    if called in plain:
        return plain.get(called)
    known = SAME.get(called, called)
    if known in plain:
        return plain.get(known)
    if f"{known}_scalar" in internal:
        return _binary(known)
    if known not in internal:
        return None
    variadic = any(array[0] == "*" for array in schema_of(internal.operators[known]).arrays)
    return _of_list(known) if variadic else internal.get(known)


def numpy_names() -> list[str]:
    """Return the names of all functions of numpy that there are."""
    operators = {*namespace("numpy", NumpySymbol).operators, *namespace("numpy._internal", NumpySymbol).operators}
    return sorted({name for name in operators if not name.endswith("_scalar")} | set(SAME))


def _of_list(called: str) -> Any:
    """Return a function of a list of symbols, as `numpy.stack`; einsum's text comes before its symbols."""
    internal = namespace("numpy._internal", NumpySymbol)

    def function(first: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(first, str):
            return internal.get(called)(*args, **{"subscripts": first, "optimize": 0, **kwargs})
        defaults = {"axis": 0} if called in ("concatenate", "stack") else {}
        symbols = first if isinstance(first, list | tuple) else (first, *args)
        return internal.get(called)(*symbols, **{**defaults, **kwargs})

    function.__name__ = function.__qualname__ = called
    function.__doc__ = f"`numpy.{called}` of symbols."
    return function


def _binary(called: str) -> Any:
    internal = namespace("numpy._internal", NumpySymbol)

    def function(x1: Any, x2: Any, out: Any = None, **kwargs: Any) -> Any:
        if isinstance(x1, Outputs) and isinstance(x2, Outputs):
            return internal.get(called)(x1, x2, **kwargs)
        if isinstance(x1, Outputs):
            is_int = isinstance(x2, int | np.integer)
            return internal.get(f"{called}_scalar")(x1, float(x2), is_int, **kwargs)
        swapped = f"r{called}" if f"r{called}_scalar" in internal else MIRRORED.get(called, called)
        is_int = called in MIRRORED and isinstance(x1, int | np.integer)
        return internal.get(f"{swapped}_scalar")(x2, float(x1), is_int, **kwargs)

    function.__name__ = function.__qualname__ = called
    function.__doc__ = f"`numpy.{called}` of two symbols, or of a symbol and a number."
    return function


class NumpySymbol(Symbol):
    """A symbol that behaves as numpy's arrays do. Those of several outputs are lists: they have `len` and no name."""

    __slots__ = ()

    @property
    def num_outputs(self) -> int:
        """How many outputs there are."""
        return len(self.entries)

    def as_np_ndarray(self) -> NumpySymbol:
        """Itself."""
        return self

    def as_nd_ndarray(self) -> Symbol:
        """Return the same as a symbol of `mx.sym`."""
        return Symbol(self.entries, np_shape=self.np_shape)

    @property
    def T(self) -> Any:
        """The axes in reverse order."""
        return self._numpy("transpose")

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the elements in another dtype."""
        return namespace("numpy._internal", NumpySymbol).get("cast")(self, dtype=dtype)

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        """Return the elements in another shape: a tuple, or sizes one by one."""
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        return self._numpy("reshape", newshape=wanted, order=order)

    def __getitem__(self, key: Any) -> Any:
        if len(self.entries) > 1:
            return super().__getitem__(key)
        if isinstance(key, slice) and key.step != 0:
            bounds = ([None] if bound is None else bound for bound in (key.start, key.stop))
            return namespace("numpy._internal", NumpySymbol).get("slice")(self, *bounds, key.step)
        return self._sliced(key if isinstance(key, tuple) else (key,))

    def _sliced(self, keys: Sequence[Any]) -> Any:
        """Return the part that the keys choose; a number takes its axis away. Raises IndexError for other keys."""
        begin: list[Any] = []
        end: list[Any] = []
        step: list[Any] = []
        shape: list[int] = []
        for key in keys:
            if isinstance(key, slice):
                if key.step == 0:
                    raise ValueError("the step of a slice is 0")
                begin, end, step = [*begin, key.start], [*end, key.stop], [*step, key.step]
            elif isinstance(key, int):
                forward = 1 if key >= 0 else -1
                begin, end, step = [*begin, key], [*end, key + forward], [*step, forward]
            else:
                raise IndexError(f"symbols take numbers, slices and tuples of them, got {key!r}")
            shape.append(-2 if isinstance(key, slice) else -3)
        internal = namespace("numpy._internal", NumpySymbol)
        steps = () if step == [1] and isinstance(keys[0], int) else (step,)
        part = internal.get("slice")(self, begin, end, *steps)
        return part if -3 not in shape else internal.get("reshape")(part, (*shape, -4))

    def __len__(self) -> int:
        if len(self.entries) == 1:
            raise TypeError(f"{self!r} is one output and has no len()")
        return len(self.entries)

    def __iter__(self) -> Iterator[Any]:
        if len(self.entries) == 1:
            raise TypeError(f"{self!r} is one output and cannot be iterated")
        return super().__iter__()

    def __bool__(self) -> bool:
        raise MXNetError("the truth of a symbol is not known, which holds no elements")

    def __rmul__(self, other: object) -> Any:
        return self._numpy("multiply", other, swapped=True)

    def __matmul__(self, other: object) -> Any:
        return self._numpy("matmul", other)

    def _operate(self, name: str, other: object, *, turned: bool = False) -> Any:
        return self._numpy(NUMPY_NAMES.get(name, name), other, swapped=turned)

    def _called(self, module: str, called: str, *args: Any, **kwargs: Any) -> Any:
        return self._numpy(called, *args, **kwargs)

    def _numpy(self, called: str, *args: Any, swapped: bool = False, **kwargs: Any) -> Any:
        function = numpy_function(called)
        if function is None:
            raise AttributeError(f"symbols of mx.sym.np have no {called}")
        return function(args[0], self, **kwargs) if swapped else function(self, *args, **kwargs)


NUMPY_NAMES = {"divide": "true_divide", "modulo": "mod", "lesser": "less", "lesser_equal": "less_equal"}
"""The functions of numpy for Python's operators whose names differ from those of `mx.nd`."""
