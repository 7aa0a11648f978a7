"""The functions that compose: one for every name in MXNet's registry, made from its schema when it is asked for."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from graphir.converters.mxnet.mx import attribute, name
from graphir.converters.mxnet.mx.base import NotASymbol, _Null
from graphir.converters.mxnet.mx.symbol.compose import compose, create, schema_of
from graphir.converters.mxnet.mx.symbol.node import Outputs
from graphir.converters.mxnet.schema.registry import OperatorSchema, registered_names
from graphir.converters.mxnet.schema.values import OperatorParameter
from graphir.structure.names import similar_names

OPTIONS = ("name", "attr", "out")
Function = Callable[..., Any]


def make_function(op: str, called: str, module: str, symbol_type: type[Outputs]) -> Function:
    """Return the function `called` of `module`, which composes the operator `op` (any of its registered names)."""
    schema = schema_of(op)
    variadic = next((array[1:] for array in schema.arrays if array[0] == "*"), None)
    maker = _FunctionMaker(op, schema, called.lower(), symbol_type)

    def function(*args: Any, **kwargs: Any) -> Any:
        return maker.of_many(args, kwargs) if variadic else maker.of_named(args, kwargs)

    function.__name__ = called
    function.__qualname__ = called
    function.__module__ = module
    function.__doc__ = documentation(op, schema)
    function.__signature__ = _signature(schema, variadic)  # type: ignore[attr-defined]
    return function


class _FunctionMaker:
    """What a generated function does with its arguments."""

    def __init__(self, op: str, schema: OperatorSchema, hint: str, symbol_type: type[Outputs]) -> None:
        self.op = op
        self.schema = schema
        self.hint = hint
        self.symbol_type = symbol_type
        self.numpy_style = op.startswith("_np")
        self.positions = (*schema.arrays, *schema.keywords, *OPTIONS)

    def of_many(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Return an operator that takes any number of arrays, in order or by the names `arg0`, `arg1`, ..."""
        for value in args:
            if not isinstance(value, Outputs):
                raise NotASymbol(f"{self.op}: positional arguments must be symbols, got {value!r}")
        kwargs = {**kwargs, **attribute.current().get(kwargs.pop("attr", None))}
        given_name = kwargs.pop("name", None)
        kwargs.pop("out", None)
        symbols = {key: value for key, value in kwargs.items() if isinstance(value, Outputs)}
        values = {key: value for key, value in kwargs.items() if key not in symbols and value is not _Null}
        if self.schema.variadic:
            values.setdefault(self.schema.variadic, len(args) + len(symbols))
        chosen = name.current().get(given_name, self.hint)
        if args and symbols:
            raise TypeError(f"{self.op} takes its symbols either in order or by name, not both")
        return self.composed(args, symbols, values, chosen)

    def of_named(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Return an operator whose arrays have names, which come first in order."""
        if len(args) > len(self.positions):
            raise TypeError(f"{self.op} takes {len(self.positions)} arguments in order, {len(args)} are given")
        given = dict(zip(self.positions, args, strict=False))
        twice = given.keys() & kwargs.keys()
        if twice:
            raise TypeError(f"{self.op} got multiple values for argument {sorted(twice)[0]!r}")
        given.update(kwargs)
        chosen, attr, _ = (given.pop(option, None) for option in OPTIONS)
        symbols: dict[str, Outputs] = {}
        for array in self.schema.arrays:
            value = given.pop(array, None)
            if value is None:
                continue
            if not isinstance(value, Outputs):
                raise NotASymbol(f"{self.op}: argument {array} must be a symbol, got {value!r}")
            symbols[array] = value
        given.update(attribute.current().get(attr))
        symbols.update({key: value for key, value in given.items() if isinstance(value, Outputs)})
        values = {key: value for key, value in given.items() if key not in symbols and value is not _Null}
        return self.composed((), symbols, values, name.current().get(chosen, self.hint))

    def composed(
        self, args: Sequence[Outputs], symbols: Mapping[str, Outputs], values: dict[str, Any], chosen: str
    ) -> Any:
        """Return the symbol of the operator. Raises MXNetError for what the operator does not take."""
        if "dtype" in values and "dtype" in self.schema.keywords:
            if self.numpy_style and values["dtype"] is None:
                del values["dtype"]
            else:
                values["dtype"] = dtype_name(values["dtype"])
        node = create(self.op, {key: attribute_text(value) for key, value in values.items()}, chosen)
        compose(
            node, [each.entries for each in args], {key: each.entries for key, each in symbols.items()}, chosen
        )
        entries = [(node, slot, 0) for slot in range(node.visible)]
        if self.numpy_style and len(entries) > 1:
            return [self.symbol_type([entry]) for entry in entries]
        return self.symbol_type(entries)


def dtype_name(dtype: Any) -> str:
    """Return the name of a dtype as attributes state it; MXNet's own form of bfloat16 is a record of one field."""
    known = np.dtype(dtype)
    return known.names[0] if known.names else known.name


def attribute_text(value: Any) -> str:
    """Return a value as attributes state it. NumPy's numbers are written as numbers, also within tuples.

    >>> import numpy as np
    >>> attribute_text((np.int64(3), 1)), attribute_text([2]), attribute_text(0.5), attribute_text(None)
    ('(3, 1)', '[2]', '0.5', 'None')
    """
    if isinstance(value, tuple | list) and any(isinstance(part, np.generic | tuple | list) for part in value):
        parts = [_part_text(part) for part in value]
        if isinstance(value, list):
            return f"[{', '.join(parts)}]"
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
    return str(value)


def _part_text(part: Any) -> str:
    return repr(part) if isinstance(part, str) else attribute_text(part)


def _signature(schema: OperatorSchema, variadic: str | None) -> inspect.Signature:
    kind = inspect.Parameter.KEYWORD_ONLY if variadic else inspect.Parameter.POSITIONAL_OR_KEYWORD
    defaults: dict[str, Any] = {} if variadic else dict.fromkeys(schema.arrays)
    defaults.update(dict.fromkeys(schema.keywords, _Null))
    defaults.update(dict.fromkeys(OPTIONS))
    parameters = [inspect.Parameter(variadic, inspect.Parameter.VAR_POSITIONAL)] if variadic else []
    parameters += [inspect.Parameter(parameter, kind, default=default) for parameter, default in defaults.items()]
    return inspect.Signature([*parameters, inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)])


def documentation(op: str, schema: OperatorSchema) -> str:
    """Return what a generated function takes, from the schema: its arrays, its parameters with types and defaults."""
    also = [name for name in (schema.name, *schema.aliases) if name != op]
    lines = [f"MXNet's operator `{schema.name}`" + (f", here `{op}`." if op != schema.name else "."), ""]
    if also:
        lines += [f"Also called {', '.join(also)}.", ""]
    lines += ["Parameters", "----------"]
    for array in schema.arrays:
        state = "; the operator changes it when it trains" if array in schema.aux else ""
        lines.append(f"{array} : Symbol, a variable is made where none is given{state}" if array[0] != "*"
                     else f"{array} : Symbols, any number of them")  # fmt: skip
    lines += [_parameter_line(schema, name) for name in schema.keywords]
    lines += ["name : str, optional, numbered where it is not given", "attr : dict of str, optional", ""]
    plural = "s" if len(schema.outputs) > 1 else ""
    lines += ["Returns", "-------", f"Symbol with the output{plural} {', '.join(schema.outputs)}"]
    return "\n".join(lines)


def _parameter_line(schema: OperatorSchema, name: str) -> str:
    parameter: OperatorParameter | None = schema.parameters.get(name)
    if parameter is None:
        return f"{name} : any"
    if parameter.required:
        return f"{name} : {parameter.kind}, required"
    return f"{name} : {parameter.kind}, default {parameter.default!r}"


class Namespace:
    """The functions of one module of MXNet by name, each made when it is first asked for."""

    def __init__(self, module: str, operators: Mapping[str, str], symbol_type: type[Outputs]) -> None:
        self.module = module
        self.operators = operators
        self.symbol_type = symbol_type
        self.get = functools.cache(self._make)

    def __contains__(self, called: object) -> bool:
        return called in self.operators

    def _make(self, called: str) -> Function:
        return make_function(self.operators[called], called, self.module, self.symbol_type)


ROOT = "graphir.converters.mxnet.mx.symbol"
PREFIXES = ("_contrib_", "_linalg_", "_sparse_", "_image_", "_random_")
NUMPY_PREFIXES = {"_npi_": "numpy._internal", "_npx_": "numpy_extension", "_np_": "numpy"}
NUMPY_PARTS = {"numpy": ("_random_", "_linalg_"), "numpy_extension": ("_image_", "_random_"), "numpy._internal": ()}


@functools.cache
def _tables() -> Mapping[str, Mapping[str, str]]:
    """Return each module with its functions, and the operator of each."""
    tables: dict[str, dict[str, str]] = {}
    for registered in registered_names():
        module, called = place_of(registered)
        tables.setdefault(module, {})[called] = registered
    return tables


def place_of(registered: str) -> tuple[str, str]:
    """Return the module below `mx.sym` and the function in it of a registered name."""
    for prefix, module in NUMPY_PREFIXES.items():
        if registered.startswith(prefix):
            called = registered[len(prefix) :]
            part = next((part for part in NUMPY_PARTS[module] if called.startswith(part)), "")
            return (f"{module}.{part[1:-1]}", called[len(part) :]) if part else (module, called)
    prefix = next((prefix for prefix in PREFIXES if registered.startswith(prefix)), "")
    if prefix and (prefix != "_random_" or registered.endswith("_like")):
        return prefix[1:-1], registered[len(prefix) :]
    return ("_internal" if registered.startswith("_") else "op"), registered


_MADE: dict[tuple[str, int], Namespace] = {}


def namespace(module: str, symbol_type: type[Outputs]) -> Namespace:
    """Return the functions of `mx.sym.<module>`, which give symbols of that type."""
    functions = _MADE.get((module, id(symbol_type)))
    if functions is None:
        functions = Namespace(f"{ROOT}.{module}", _tables().get(module, {}), symbol_type)
        _MADE[module, id(symbol_type)] = functions
    return functions


def lookup(
    module: str, symbol_type: type[Outputs], *, shown: str = ""
) -> tuple[Callable[[str], Function], Callable[[], list[str]]]:
    """`__getattr__` and the names for `__dir__` of the module that holds these functions."""
    place = shown or f"mx.sym.{module}"

    def found(called: str) -> Function:
        functions = namespace(module, symbol_type)
        if called not in functions:
            near = similar_names(called, functions.operators)
            raise AttributeError(
                f"{place} has no {called!r}: MXNet 1.9.1 registers no operator of that name there{near}"
            )
        return functions.get(called)

    return found, lambda: sorted(namespace(module, symbol_type).operators)


class GeneratedModule(ModuleType):
    """A module of `mx.sym` whose functions are all made from the schema, and those that are parts of it."""

    def __init__(self, module: str, symbol_type: type[Outputs], *, shown: str = "", parts: Sequence[str] = ()) -> None:
        super().__init__(shown or f"mx.sym.{module}")
        self._find, self._list_names = lookup(module, symbol_type, shown=shown)
        self._parts = parts
        for part in parts:
            setattr(self, part, GeneratedModule(f"{module}.{part}", symbol_type, shown=f"{shown}.{part}"))

    def __getattr__(self, name: str) -> Any:
        return self._find(name)

    def __dir__(self) -> list[str]:
        return sorted({*self._list_names(), *self._parts})
