"""Operators that a user brings: a Python file, or an installed package, that says what they mean.

A plugin is the user's own code. It runs when the user names its file (`--plugin FILE`, `using(FILE)`), or when a
package with an entry point in the group `graphir.plugins` is installed and a model has an operator that nothing else
knows. No model file can name one. A plugin defines `register(registry)`, which states its operators; docs/plugins.md
has examples.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from pathlib import Path
from types import CodeType
from typing import Any, NoReturn

from graphir.errors import GraphirError, ImportFailure
from graphir.ops.base import Operator, operator
from graphir.structure.record import record

GROUP = "graphir.plugins"
# Formats whose operators a plugin can read.
READ = ("mxnet", "onnx", "tensorflow")
RULES = ("check_attributes", "infer", "infer_inputs", "propagate", "macs")


class PluginError(ImportFailure):
    """A plugin that cannot be used, or that failed: the text names its file and the line."""


@record
class SourceOperator:
    """How a source framework's operator is read: the names of its inputs and outputs, its attributes, what they mean.

    `imports` is called with the node, and gives the value, or the values, that are its results. `reference` is what the
    operator computes in numpy: `reference(attributes, *inputs)`. `attributes` are defaults by name, or the type of one
    that has to be stated; texts of a file are read as that, numbers have to be of that kind. `unread` are inputs that
    inference does not read (labels). `by_attributes` gives the operator of a node with these attributes, where its
    inputs and outputs depend on them.
    """

    name: str
    imports: Callable[[Any], Any]
    reference: Callable[..., Any] | None = None
    inputs: tuple[str, ...] = ("data",)
    outputs: tuple[str, ...] = ("output",)
    unread: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    plugin: str = ""
    by_attributes: Callable[[Mapping[str, str]], SourceOperator] | None = None

    def of_node(self, stated: Mapping[str, str]) -> SourceOperator:
        """Return the operator of a node with these attributes."""
        return self if self.by_attributes is None else self.by_attributes(stated)

    def typed(self, stated: Mapping[str, str]) -> dict[str, Any]:
        """Return the attributes of a node by name, from their texts. Raises PluginError for one that is missing or
        unfit."""
        return {name: self._read(name, kind, stated.get(name), _parse_value) for name, kind in self.attributes.items()}

    def fitted(self, stated: Mapping[str, Any]) -> dict[str, Any]:
        """Return the attributes of a node by name, of a format that has typed ones. Raises PluginError as `typed`
        does."""
        return {name: self._read(name, kind, stated.get(name), _fit_value) for name, kind in self.attributes.items()}

    def _read(self, name: str, kind: Any, given: Any, read: Callable[[Any, Any], Any]) -> Any:
        wanted = kind if isinstance(kind, type) else type(kind)
        if given is None:
            if isinstance(kind, type):
                raise PluginError(f"{self.plugin}: {self.name} wants the attribute {name}, which a node does not state")
            return kind
        try:
            return read(given, wanted)
        except (ValueError, SyntaxError):
            raise PluginError(
                f"{self.plugin}: the attribute {name} of {self.name} is {given!r}, expected {wanted.__name__}"
            ) from None


def _fit_value(value: Any, wanted: Any) -> Any:
    if isinstance(value, bytes) and wanted is str:
        return value.decode()
    if wanted is bool and value in (0, 1):
        return bool(value)
    if wanted in (tuple, list) and isinstance(value, tuple | list):
        return wanted(value)
    if wanted is float and isinstance(value, int | float):
        return float(value)
    if not isinstance(value, wanted):
        raise ValueError(value)
    return value


def _parse_value(text: str, wanted: type) -> Any:
    if wanted is bool:
        known = {"true": True, "1": True, "false": False, "0": False}
        if text.strip().lower() not in known:
            raise ValueError(text)
        return known[text.strip().lower()]
    if wanted in (int, float, str):
        return wanted(text)
    import ast

    value = ast.literal_eval(text)
    if wanted in (tuple, list) and isinstance(value, tuple | list):
        return wanted(value)
    if not isinstance(value, wanted):
        raise ValueError(text)
    return value


@record
class OwnOperator:
    """An operator class of a plugin: how it is written to ONNX, and what it computes where no runtime has a kernel."""

    cls: type[Operator]
    compute: Callable[..., Any] | None
    export: Callable[[Any], None] | None
    plugin: str


class Registry:
    """What one plugin states. Every name may be stated once, and none that graphir has itself."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.sources: dict[tuple[str, str], SourceOperator] = {}
        self.operators: dict[str, OwnOperator] = {}

    def source(
        self,
        format: str,
        name: str,
        imports: Callable[[Any], Any],
        *,
        reference: Callable[..., Any] | None = None,
        inputs: tuple[str, ...] = ("data",),
        outputs: tuple[str, ...] = ("output",),
        unread: tuple[str, ...] = (),
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        """Register an operator of a source format that graphir does not read; see `SourceOperator`.

        `format` is `mxnet`, `onnx` or `tensorflow`. MXNet's `Custom` is one operator for each `op_type`:
        `Custom:my_type`. An operator of ONNX is named with its domain: `com.example:MyOperator`.
        """
        if format not in READ:
            self._refuse(f"operators are read of {', '.join(READ)}, not of {format!r}")
        if (format, name) in self.sources:
            self._refuse(f"the operator {name} of {format} is stated twice")
        unknown = set(unread) - set(inputs)
        if unknown:
            self._refuse(f"{name}: {', '.join(sorted(unknown))} in unread, but not in inputs")
        self.sources[format, name] = SourceOperator(
            name,
            self._guard_call(imports),
            None if reference is None else self._guard_call(reference),
            tuple(inputs),
            tuple(outputs),
            tuple(unread),
            dict(attributes or {}),
            self.name,
        )

    def operator(
        self,
        cls: type[Operator],
        *,
        compute: Callable[..., Any] | None = None,
        export: Callable[[Any], None] | None = None,
    ) -> None:
        """Register an operator class with a `domain` of its own, decorated with `@operator`.

        In ONNX it is an operator of that domain with the class's name and the fields as attributes, unless `export`
        writes it otherwise. `compute(op, *inputs)` gives the array, or the tuple of arrays, that it computes: graphir
        runs it where onnxruntime has no kernel.
        """
        from graphir.ops import operator_table

        if not (isinstance(cls, type) and issubclass(cls, Operator)) or cls.infer is Operator.infer:
            self._refuse(f"{cls!r} is no operator class; derive it from Operator and decorate it with @operator")
        name = cls.__name__
        if not cls.domain or cls.domain in ("ai.onnx", "ai.onnx.ml"):
            self._refuse(f"{name} has the domain {cls.domain!r}; state one of your own, as in domain = 'com.example'")
        if name in self.operators or name in operator_table():
            self._refuse(f"there is an operator {name} already; give the class another name")
        for rule in RULES:
            self._guard(cls, rule)
        self.operators[name] = OwnOperator(
            cls,
            None if compute is None else self._guard_call(compute),
            None if export is None else self._guard_call(export),
            self.name,
        )

    def _guard(self, cls: type[Operator], rule: str) -> None:
        """Let what fails in a rule of the class be told with its line."""
        method = cls.__dict__.get(rule)
        if method is not None and not hasattr(method, "__wrapped__"):
            setattr(cls, rule, self._guard_call(method))

    def _guard_call(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(function):
            self._refuse(f"{function!r} is no function")

        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            with _report_errors(self.name, function):
                return function(*arguments, **named)

        return call

    def _refuse(self, text: str) -> NoReturn:
        raise PluginError(f"{self.name}: {text}")


@contextmanager
def _report_errors(plugin: str, function: Callable[..., Any]) -> Iterator[None]:
    """What a plugin's code raises, but for what it refuses on purpose, as a PluginError with the file and the line."""
    try:
        yield
    except GraphirError:
        raise
    except Exception as error:  # whatever the user's own code raises is told as that
        code: CodeType | None = getattr(function, "__code__", None)
        raise PluginError(_describe_place(plugin, error, code)) from error


def _describe_place(plugin: str, error: Exception, code: CodeType | None = None) -> str:
    """`FILE, line 12, in name: ValueError: text`: the innermost line of the plugin's own file."""
    file = code.co_filename if code is not None else plugin
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}, line {error.lineno}: SyntaxError: {error.msg}"
    import traceback

    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in (file, plugin)]
    where = f", line {frames[-1].lineno}, in {frames[-1].name}" if frames else ""
    return f"{frames[-1].filename if frames else plugin}{where}: {type(error).__name__}: {error}"


_named: ContextVar[tuple[Registry, ...]] = ContextVar("graphir_plugins", default=())
_used: list[Registry] = []
_loaded: dict[tuple[str, float], Registry] = {}


@contextmanager
def using(*files: str | os.PathLike[str] | Callable[[Registry], None]) -> Iterator[None]:
    """While this lasts, the operators of these plugins are known: files, or functions like their `register`.

    Raises PluginError for a file that is not there, that fails, or that states what another one states.
    """
    token = _named.set(_join_registries(_named.get(), [_registry(file) for file in files]))
    try:
        yield
    finally:
        _named.reset(token)


def use(*files: str | os.PathLike[str] | Callable[[Registry], None] | Registry) -> None:
    """From now on, in all threads, the operators of these plugins are known; see `using`. A Registry may grow later."""
    _used[:] = _join_registries(tuple(_used), [_registry(file) for file in files])


def _join_registries(known: tuple[Registry, ...], added: list[Registry]) -> tuple[Registry, ...]:
    registries = list(known)
    for registry in added:
        if registry in registries:
            continue
        for other in registries:
            twice = [name for _, name in registry.sources.keys() & other.sources.keys()]
            twice += registry.operators.keys() & other.operators.keys()
            if twice:
                raise PluginError(f"{registry.name} and {other.name} both state {', '.join(sorted(twice))}")
        registries.append(registry)
    return tuple(registries)


def _registry(plugin: str | os.PathLike[str] | Callable[[Registry], None] | Registry) -> Registry:
    if isinstance(plugin, Registry):
        return plugin
    if isinstance(plugin, str | os.PathLike):
        return _of_file(Path(plugin))
    registry = Registry(f"{getattr(plugin, '__module__', '?')}.{getattr(plugin, '__qualname__', plugin)}")
    with _report_errors(registry.name, plugin):
        plugin(registry)
    return registry


def _of_file(path: Path) -> Registry:
    """Return what a file states, read once as long as it does not change."""
    try:
        key = (os.path.realpath(path), path.stat().st_mtime)
    except OSError as error:
        raise PluginError(f"the plugin {path}: {error.strerror}") from None
    if key not in _loaded:
        _loaded[key] = _execute_file(path)
    return _loaded[key]


def _execute_file(path: Path) -> Registry:
    from importlib.machinery import SourceFileLoader
    from importlib.util import module_from_spec, spec_from_loader

    name, file = f"graphir_plugin_{abs(hash(os.path.realpath(path)))}", os.fspath(path)
    spec = spec_from_loader(name, SourceFileLoader(name, file))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickles look there
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    registry = Registry(file)
    try:
        spec.loader.exec_module(module)
    except GraphirError:
        raise
    except Exception as error:  # whatever the user's own code raises is told as that
        del sys.modules[name]
        raise PluginError(_describe_place(file, error)) from error
    finally:
        sys.dont_write_bytecode = written
    register = getattr(module, "register", None)
    if not callable(register):
        raise PluginError(f"{file}: a plugin defines a function register(registry); this file has none")
    with _report_errors(file, register):
        register(registry)
    return registry


@functools.cache
def _installed_registries() -> tuple[Registry, ...]:
    """Return what installed packages state, looked up when a model has an operator that nothing else knows."""
    from importlib.metadata import entry_points

    registries: tuple[Registry, ...] = ()
    for entry in entry_points(group=GROUP):
        name = f"{entry.value} (installed as {entry.name})"
        registry = Registry(name)
        try:
            register = entry.load()
        except Exception as error:  # whatever the package's code raises is told as that
            raise PluginError(_describe_place(name, error)) from error
        with _report_errors(name, register):
            register(registry)
        registries = _join_registries(registries, [registry])
    return registries


def _registries() -> Iterator[Registry]:
    """Yield those that are named, then those in use, then those installed, which are looked up only if it comes to
    it."""
    yield from _named.get()
    yield from _used
    yield from _installed_registries()


def source_operator(format: str, name: str) -> SourceOperator | None:
    """Return how a plugin reads an operator of a format that graphir does not; None if none does."""
    return next(
        (registry.sources[format, name] for registry in _registries() if (format, name) in registry.sources), None
    )


def stated_operators(format: str) -> Iterator[SourceOperator]:
    """Yield the operators of a format that the plugins in use state, without those of installed ones, which nobody
    named."""
    for registry in (*_named.get(), *_used):
        yield from (operator for (of, _), operator in registry.sources.items() if of == format)


def own_operator(name: str, domain: str | None = None) -> OwnOperator | None:
    """Return the operator class of a plugin by its name, and its domain if that is given; None if there is none."""
    for registry in _registries():
        entry = registry.operators.get(name)
        if entry is not None and domain in (None, entry.cls.domain):
            return entry
    return None


__all__ = [
    "Operator",
    "OwnOperator",
    "PluginError",
    "Registry",
    "SourceOperator",
    "operator",
    "own_operator",
    "source_operator",
    "stated_operators",
    "use",
    "using",
]
