"""Parameters by name."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any

from graphir.converters.mxnet.files.params import write_params
from graphir.converters.mxnet.mx import initializer
from graphir.converters.mxnet.mx.context import Context
from graphir.converters.mxnet.mx.gluon.parameter import Constant, Parameter
from graphir.converters.mxnet.mx.ndarray import NDArray
from graphir.converters.mxnet.mx.ndarray import load as load_arrays
from graphir.converters.mxnet.mx.ndarray.array import numpy_dtype


class ParameterDict:
    """Parameters by name. Those that it makes have its `prefix`; those of `shared` are taken as they are."""

    def __init__(self, prefix: str = "", shared: ParameterDict | None = None) -> None:
        self._prefix = prefix
        self._params: OrderedDict[str, Any] = OrderedDict()
        self._shared = shared

    @property
    def prefix(self) -> str:
        """What the names begin with."""
        return self._prefix

    def __repr__(self) -> str:
        name = f"{self._prefix} " if self._prefix else ""
        return f"{name}(\n" + "\n".join(f"  {parameter}" for parameter in self.values()) + "\n)"

    def __getitem__(self, key: str) -> Any:
        return self._params[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __len__(self) -> int:
        return len(self._params)

    def __contains__(self, key: object) -> bool:
        return key in self._params

    def items(self) -> ItemsView[str, Any]:
        """Names and parameters."""
        return self._params.items()

    def keys(self) -> KeysView[str]:
        """Names."""
        return self._params.keys()

    def values(self) -> ValuesView[Any]:
        """Parameters."""
        return self._params.values()

    def get(self, name: str, **kwargs: Any) -> Any:
        """Return the parameter `prefix + name`, made with these options if it is new.

        Raises AssertionError for one that is there with other options.
        """
        full = self._prefix + name
        parameter = self._found(full)
        if parameter is None:
            parameter = self._params[full] = Parameter(full, **kwargs)
            return parameter
        for key, value in kwargs.items():
            stated = getattr(parameter, key, None)
            if stated is None:
                setattr(parameter, "_shape" if key == "shape" else key, value)
            elif key == "shape" and value is not None:
                wanted = (value,) if isinstance(value, int) else tuple(value)
                open_sizes = [0 if size == 0 else other for size, other in zip(stated, wanted, strict=False)]
                parameter.shape = [size or other for size, other in zip(open_sizes, stated, strict=False)]
            elif key == "dtype" and numpy_dtype(value) != numpy_dtype(stated):
                raise AssertionError(f"the Parameter {full!r} is there with dtype {stated}, asked for with {value}")
        return parameter

    def get_constant(self, name: str, value: Any = None) -> Any:
        """Return the constant `prefix + name`, made of `value` if it is new. Raises KeyError without one."""
        full = self._prefix + name
        constant = self._found(full)
        if constant is None:
            if value is None:
                raise KeyError(f"there is no constant {full!r}; a new one needs a value")
            constant = self._params[full] = Constant(full, value)
        return constant

    def update(self, other: ParameterDict) -> None:
        """Take the parameters of another one. Raises AssertionError for another parameter of a name that is here."""
        for name, parameter in other.items():
            if self._params.get(name, parameter) is not parameter:
                raise AssertionError(f"both have a Parameter {name!r}, and these are two")
        self._params.update(other.items())

    def initialize(
        self, init: Any = None, ctx: Any = None, verbose: bool = False, force_reinit: bool = False
    ) -> None:
        """Fill all parameters: by their own initializers, or by `init`."""
        default = initializer.Uniform() if init is None else init
        for parameter in self.values():
            parameter.initialize(None, ctx, default, force_reinit)

    def zero_grad(self) -> None:
        """Nothing: there are no gradients."""

    def reset_ctx(self, ctx: Any) -> None:
        """Move all arrays to another device."""
        for parameter in self.values():
            parameter.reset_ctx(ctx)

    def list_ctx(self) -> list[Context]:
        """Return the devices of the arrays."""
        return list(dict.fromkeys(ctx for parameter in self.values() for ctx in parameter.list_ctx()))

    def setattr(self, name: str, value: Any) -> None:
        """Set an attribute of all parameters."""
        for parameter in self.values():
            setattr(parameter, name, value)

    def save(self, filename: str, strip_prefix: str = "") -> None:
        """Write the arrays by name. Raises ValueError for a name without `strip_prefix`, and ExportFailure."""
        tensors = {}
        for value in self.values():
            if not value.name.startswith(strip_prefix):
                raise ValueError(f"Prefix {strip_prefix!r} is to be stripped, but {value.name} has it not")
            tensors[value.name[len(strip_prefix) :]] = value.data().tensor
        write_params(filename, tensors)

    def load(
        self,
        filename: str,
        ctx: Any = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Take the arrays of a file by name, with or without `arg:` and `aux:`.

        Raises AssertionError for a parameter that is not in the file, unless `allow_missing`, or that has another
        shape, and for an array without parameter, unless `ignore_extra`.
        """
        loaded: Any = load_arrays(filename)
        self.take(loaded, filename, ctx, allow_missing, ignore_extra, restore_prefix, cast_dtype, dtype_source)

    def take(
        self,
        loaded: Mapping[str, NDArray],
        filename: str,
        ctx: Any = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Take arrays that were loaded from a file. Raises what `load` raises."""
        plain = {name[4:] if name.startswith(("arg:", "aux:")) else name: array for name, array in loaded.items()}
        named = {restore_prefix + name: array for name, array in plain.items()}
        if not allow_missing:
            for name in self:
                if name not in named:
                    raise AssertionError(
                        f"{filename!r} has no {name.removeprefix(restore_prefix)!r}; it has {brief(plain)}. Do both "
                        "networks have the same prefix?"
                    )
        for name, array in named.items():
            if name in self:
                self[name]._load_init(array, ctx, cast_dtype, dtype_source)
            elif not ignore_extra:
                raise AssertionError(
                    f"Parameter {name.removeprefix(restore_prefix)!r} loaded from file {filename!r} is not present in "
                    f"this ParameterDict, which has {brief(self)}"
                )

    def _found(self, full: str) -> Any:
        if full in self._params:
            return self._params[full]
        if self._shared is not None and full in self._shared._params:
            self._params[full] = self._shared._params[full]
            return self._params[full]
        return None


def brief(names: Any, most: int = 8) -> str:
    """Some of many names."""
    shown = [repr(name) for name in names]
    return ", ".join(shown) if len(shown) <= most else f"{', '.join(shown[:most])}, ... ({len(shown)})"
