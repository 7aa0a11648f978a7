"""`Symbol`: outputs of a graph of operators that is composed, looked into, inferred and written as in MXNet."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from graphir.converters.mxnet.files.nnvm_json import parse_symbol, read_parsed, read_symbol
from graphir.converters.mxnet.files.records import NNVMGraph
from graphir.converters.mxnet.mx.base import MXNetError, NotASymbol, mxnet_errors
from graphir.converters.mxnet.mx.symbol import inference
from graphir.converters.mxnet.mx.symbol.arithmetic import SymbolArithmetic
from graphir.converters.mxnet.mx.symbol.compose import check_loadable, deprecated, recompose
from graphir.converters.mxnet.mx.symbol.node import (
    Entry,
    SymbolNode,
    copied,
    debug_text,
    from_records,
    post_order,
    records,
    to_text,
    variable_names,
)
from graphir.converters.mxnet.mx.util import is_np_shape
from graphir.converters.mxnet.schema.upgrade import HIDDEN_KEYS
from graphir.errors import FormatError
from graphir.files.writing import replacing
from graphir.safety.foreign_text import listing
from graphir.structure.names import similar_names


class SymbolFormatError(FormatError, MXNetError):
    """A text or file is no symbol."""


class Symbol(SymbolArithmetic):
    """One or several outputs of a graph of operators.

    Symbols that were made of one another share nodes; what composes, selects or copies gives another symbol.
    """

    __slots__ = ()
    numpy_type: ClassVar[type[Symbol]]
    """The type of symbols of `mx.sym.np`; the package states it, which imports both."""

    @classmethod
    def of(cls, graph: NNVMGraph) -> Symbol:
        """Return the symbol of records that were read or exported."""
        return cls(from_records(graph), np_shape=graph.np_shape)

    @property
    def name(self) -> str | None:
        """The name of the node whose outputs these are; None if there are several nodes."""
        node = self._only_node()
        return None if node is None else node.name

    def list_arguments(self) -> list[str]:
        """Return the names of inputs and parameters, in the order in which the operators need them."""
        return variable_names(post_order(self.entries))[0]

    def list_auxiliary_states(self) -> list[str]:
        """Return the names of states that training changes by itself, such as a moving mean."""
        return variable_names(post_order(self.entries))[1]

    def list_inputs(self) -> list[str]:
        """Arguments and auxiliary states in one list."""
        return [node.name for node in post_order(self.entries) if node.is_variable]

    def list_outputs(self) -> list[str]:
        """Return the names of the outputs: `<node>_output`, or the variable's own."""
        return [node.output_name(slot) for node, slot, _ in self.entries]

    def get_internals(self) -> Symbol:
        """Return all values of the graph as one symbol, outputs that only training uses left out."""
        return self._with([
            (node, slot, node.version) for node in post_order(self.entries) for slot in range(node.visible)
        ])  # fmt: skip

    def get_children(self) -> Symbol | None:
        """Return what the outputs' nodes read, None if they read nothing."""
        producers = {id(node): node for node, *_ in self.entries}
        read = [entry for node in producers.values() for entry in node.inputs]
        return self._with(read) if read else None

    def get_inputs(self) -> list[Symbol]:
        """Return the variables that it depends on, one symbol each, in the order of `list_inputs`."""
        return [self._with([(node, 0, node.version)]) for node in post_order(self.entries) if node.is_variable]

    def attr(self, key: str) -> str | None:
        """Return an attribute of the node whose outputs these are, `name` included; None if it states none."""
        node = self._only_node()
        if node is None:
            return None
        if key == "_value_index":
            return str(self.entries[0][1])
        return node.name if key == "name" else _attributes(node).get(key)

    def list_attr(self, recursive: bool = False) -> dict[str, str]:
        """Return the attributes of the node whose outputs these are."""
        if recursive:
            raise DeprecationWarning("list_attr with recursive=True is gone; attr_dict() gives those of all nodes")
        node = self._only_node()
        return {} if node is None else _attributes(node)

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """Return the attributes of every node that states some, by the node's name."""
        attributes: dict[str, dict[str, str]] = {}
        for node in post_order(self.entries):
            if node.attrs:
                attributes.setdefault(node.name, {}).update(_attributes(node))
        return attributes

    def _set_attr(self, **kwargs: str) -> None:
        """Set attributes of the node, which all symbols that share it see; `name` is its name.

        Raises ValueError for a value that is no text, and MXNetError for several nodes.
        """
        for key, text in kwargs.items():
            if not isinstance(text, str):
                raise ValueError(f"the attribute {key} is {text!r}, expected text: only strings can be set")
            node = self._only_node()
            if node is None:
                raise MXNetError("attributes are set on a symbol of one node, this one is of several")
            if key == "name":
                node.name = text
                continue
            hidden = next((hidden for hidden in HIDDEN_KEYS if key.endswith(hidden)), None)
            if hidden is not None and hidden != key:
                raise deprecated(key, hidden, text)
            node.attrs[key if hidden is None else f"__{key}__"] = text

    def as_np_ndarray(self) -> Symbol:
        """Return the same as a symbol of `mx.sym.np`."""
        return self.numpy_type(self.entries, np_shape=self.np_shape)

    def as_nd_ndarray(self) -> Symbol:
        """Itself."""
        return self

    def infer_shape(self, *args: Any, **kwargs: Any) -> inference.Shapes | tuple[None, None, None]:
        """Return the shapes of arguments, outputs and auxiliary states in three lists; three times None if some stay
        open.

        Shapes are given by name, or for the arguments in order (None for what is not known). In them 0 is an open size,
        with numpy's shapes (`mx.util.np_shape`) -1. Raises MXNetError for shapes that contradict each other, and
        TypeError for what is none.
        """
        inferred = self.infer_shape_partial(*args, **kwargs)
        if inference.is_complete(inferred):
            return inferred
        inference.warn_of_open("shape", zip(self.list_arguments(), inferred[0], strict=True))
        return None, None, None

    def infer_shape_partial(self, *args: Any, **kwargs: Any) -> inference.Shapes:
        """`infer_shape` with what is known: () is a shape of which nothing is, 0 an open size."""
        return inference.shapes_of(self, args, kwargs)

    def infer_type(self, *args: Any, **kwargs: Any) -> inference.Types | tuple[None, None, None]:
        """Return the dtypes of arguments, outputs and auxiliary states as numpy's classes; three times None if some
        stay open.

        Dtypes are given by name, or for the arguments in order (None for what is not known). Raises MXNetError for
        dtypes that contradict each other, and TypeError for what is none.
        """
        inferred = self.infer_type_partial(*args, **kwargs)
        if not any(None in group for group in inferred):
            return inferred
        inference.warn_of_open("type", zip(self.list_arguments(), inferred[0], strict=True))
        return None, None, None

    def infer_type_partial(self, *args: Any, **kwargs: Any) -> inference.Types:
        """`infer_type` with what is known, None for what is not."""
        return inference.types_of(self, args, kwargs)

    def tojson(self, remove_amp_cast: bool = True) -> str:
        """Return the text of a symbol.json as MXNet 1.9.1 writes it; without casts of mixed precision unless asked."""
        return to_text(self.entries, np_shape=self.np_shape or is_np_shape(), remove_casts=remove_amp_cast)

    def save(self, fname: str | os.PathLike[str], remove_amp_cast: bool = True) -> None:
        """Write `tojson` to a file, which is there whole or not at all. Raises MXNetError if it cannot be written."""
        with mxnet_errors(), replacing(fname) as (file,):
            file.write(self.tojson(remove_amp_cast).encode())

    def debug_str(self) -> str:
        """Return a listing of the nodes with their inputs and attributes, as MXNet prints it."""
        return debug_text(self.entries)

    def records(self, *, remove_amp_cast: bool = False) -> NNVMGraph:
        """Return the nodes that the outputs depend on, as records of their own."""
        return records(self.entries, np_shape=self.np_shape, remove_casts=remove_amp_cast)

    def bind(self, ctx: Any, args: Any, *more: Any, **kwargs: Any) -> Any:
        """Return an executor with arrays for the arguments: `args` by name or in order, as `mx.executor.bind` takes
        them."""
        from graphir.converters.mxnet.mx import executor

        return executor.bind(self, ctx, args, *more, **kwargs)

    def simple_bind(self, ctx: Any, *args: Any, **kwargs: Any) -> Any:
        """Return an executor with arrays of its own, whose shapes follow from those given by name."""
        from graphir.converters.mxnet.mx import executor

        return executor.simple_bind(self, ctx, *args, **kwargs)

    def eval(self, ctx: Any = None, **kwargs: Any) -> Any:
        """Return the values of the outputs for arguments by name."""
        from graphir.converters.mxnet.mx import executor

        return executor.evaluate(self, ctx, **kwargs)

    def gradient(self, wrt: Any) -> Any:
        """Not there: MXNet 1.9.1 raises MXNetError too."""
        raise MXNetError("gradient is not implemented: graphir does not train, nor did MXNet 1.9.1 have it for symbols")

    def __call__(self, *args: Symbol, **kwargs: Any) -> Symbol:
        """Return a copy with symbols in place of variables: by name, or for the arguments in order. `name` renames it.

        Raises TypeError for what is no symbol and MXNetError for names that are no variables.
        """
        twin = self.__copy__()
        twin._compose(*args, **kwargs)
        return twin

    def _compose(self, *args: Symbol, **kwargs: Any) -> None:
        """Put symbols in place of variables here; nodes that other symbols share change with it."""
        name = kwargs.pop("name", None)
        if args and kwargs:
            raise TypeError("symbols are composed either in order or by name, not both")
        for given in (*args, *kwargs.values()):
            if not isinstance(given, Symbol):
                raise NotASymbol(f"symbols are composed of symbols, got {given!r}")
        arguments = self.list_arguments()
        if len(args) > len(arguments):
            raise MXNetError(f"{len(args)} symbols are given, the symbol has {len(arguments)} arguments")
        kwargs = dict(zip(arguments, args, strict=False)) if args else kwargs
        self.entries = recompose(self.entries, {key: each.entries for key, each in kwargs.items()}, name or "")

    def __getitem__(self, index: int | str | slice) -> Symbol:
        if isinstance(index, slice):
            chosen = self.entries[index]
            if not chosen:
                raise TypeError(f"the slice {index} of {len(self.entries)} outputs is empty")
            return self._with(chosen)
        if isinstance(index, str):
            return self._with([self.entries[self._place_of(index)]])
        if not isinstance(index, int):
            raise TypeError(f"an output is taken by its number, name or a slice, got {index!r}")
        if not -len(self.entries) <= index < len(self.entries):
            raise IndexError(f"the symbol has {len(self.entries)} outputs, none with the number {index}")
        return self._with([self.entries[index]])

    def _place_of(self, name: str) -> int:
        names = self.list_outputs()
        if names.count(name) > 1:
            raise ValueError(f"several outputs of the symbol are named {name!r}; take one by its number")
        if name not in names:
            near = similar_names(name, names) or f"; it has {listing(names)}"
            raise ValueError(f"the symbol has no output named {name!r}{near}")
        return names.index(name)

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Symbol]:
        return (self._with([entry]) for entry in self.entries)

    def __repr__(self) -> str:
        called = type(self).__name__
        if self.name is not None:
            return f"<{called} {self.name}>"
        return f"<{called} group [{', '.join(str(symbol.name) for symbol in self)}]>"

    def __copy__(self) -> Symbol:
        return self._with(copied(self.entries))

    def __deepcopy__(self, memo: object) -> Symbol:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        return _read, (type(self), self.tojson(remove_amp_cast=False).encode())

    def _with(self, entries: Sequence[Entry]) -> Symbol:
        return type(self)(entries, np_shape=self.np_shape)

    def _only_node(self) -> SymbolNode | None:
        first = self.entries[0][0] if self.entries else None
        return first if all(node is first for node, *_ in self.entries) else None


def _attributes(node: SymbolNode) -> dict[str, str]:
    """Return what a node states; of MXNet's own hidden keys also without their underscores."""
    return node.attrs | {key: node.attrs[f"__{key}__"] for key in HIDDEN_KEYS if f"__{key}__" in node.attrs}


def load(fname: str | os.PathLike[str]) -> Symbol:
    """Return the symbol of a file of any version. Raises SymbolFormatError, and TypeError for what is no name."""
    if not isinstance(fname, str | os.PathLike):
        raise TypeError(f"the name of a file is text, got {fname!r}")
    return _read(Symbol, os.fspath(fname))


def load_json(json_str: str) -> Symbol:
    """Return the symbol of a text. Raises SymbolFormatError, and TypeError for what is no text."""
    if not isinstance(json_str, str):
        raise TypeError(f"the text of a symbol is a string, got {type(json_str).__name__}")
    return _read(Symbol, json_str.encode())


def _read(kind: type[Symbol], source: str | bytes) -> Symbol:
    """Return the symbol of a file or text. What MXNet refuses to load is refused: a part that it lacks or does not
    know, operators that MXNet has not, parameters that they do not take.
    """
    try:
        document, path = parse_symbol(source)
        graph = read_parsed(document, path)
        check_loadable(document, graph, path)
    except FormatError as error:
        raise _unreadable(error) from error
    return kind(from_records(graph, document), np_shape=graph.np_shape)


def _unreadable(error: FormatError) -> SymbolFormatError:
    refusal = SymbolFormatError(str(error))
    refusal.path, refusal.offset, refusal.json_path = error.path, error.offset, error.json_path
    return refusal


def Group(symbols: Sequence[Symbol], create_fn: type[Symbol] = Symbol) -> Symbol:
    """Return the outputs of several symbols as one symbol. Raises TypeError for what is none, or nothing."""
    if isinstance(symbols, Symbol):
        symbols = list(symbols)
    if not symbols or not all(isinstance(symbol, Symbol) for symbol in symbols):
        raise TypeError(f"expected a list of symbols, got {symbols!r}")
    entries = [entry for symbol in symbols for entry in symbol.entries]
    return create_fn(entries, np_shape=any(symbol.np_shape for symbol in symbols))


def symbol_of(source: object) -> Symbol:
    """Return a symbol of ours, of MXNet's (anything with `tojson`), or of a file."""
    return source if isinstance(source, Symbol) else Symbol.of(read_symbol(source))


__all__ = ["Group", "Symbol", "SymbolFormatError", "load", "load_json", "symbol_of"]
