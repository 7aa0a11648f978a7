"""`mx.sym`: symbols that are read, looked into and written, over the records of `symbol.json`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NoReturn

from graphir.converters.mxnet.files.nnvm_json import read_symbol, to_json
from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.converters.mxnet.mx.shapes import Shapes, Types, infer_shapes, infer_types, is_complete
from graphir.converters.mxnet.mx.structure import Entry, head_names, post_order, state_variables
from graphir.converters.mxnet.schema.operators import node_signature
from graphir.converters.mxnet.schema.upgrade import HIDDEN_KEYS
from graphir.files.writing import replacing

_CASTS = frozenset(("amp_cast", "amp_multicast"))


class Symbol:
    """One or several outputs of a graph of operators. It is never changed; what selects gives another one.

    `nodes` may hold more than the heads depend on: symbols that were taken out of one another share them.
    """

    __slots__ = ("heads", "nodes", "np_shape")

    def __init__(self, nodes: list[NNVMNode], heads: Sequence[Entry], *, np_shape: bool = False) -> None:
        self.nodes = nodes
        self.heads = list(heads)
        self.np_shape = np_shape

    @classmethod
    def of(cls, graph: NNVMGraph) -> Symbol:
        """The symbol of records that were read or exported."""
        return cls(graph.nodes, graph.heads, np_shape=graph.np_shape)

    @property
    def name(self) -> str | None:
        """The name of the node whose outputs these are; None if there are several nodes."""
        node = self._only_node()
        return None if node is None else node.name

    def list_arguments(self) -> list[str]:
        """The names of inputs and parameters, in the order in which the operators need them."""
        return self._variables(states=False)

    def list_auxiliary_states(self) -> list[str]:
        """The names of states that training changes by itself, such as a moving mean."""
        return self._variables(states=True)

    def list_inputs(self) -> list[str]:
        """Arguments and auxiliary states in one list."""
        order = post_order(self.nodes, self.heads)
        return [self.nodes[index].name for index in order if self.nodes[index].op == VARIABLE]

    def list_outputs(self) -> list[str]:
        """The names of the outputs: `<node>_output`, or the variable's own."""
        return head_names(self.nodes, self.heads)

    def get_internals(self) -> Symbol:
        """All values of the graph as one symbol, outputs that only training uses left out."""
        heads: list[Entry] = []
        for index in post_order(self.nodes, self.heads):
            node = self.nodes[index]
            count = 1 if node.op == VARIABLE else node_signature(node).visible
            heads.extend((index, slot) for slot in range(count))
        return self._with(heads)

    def get_children(self) -> Symbol | None:
        """What the outputs' nodes read, None if they read nothing."""
        producers = dict.fromkeys(index for index, _ in self.heads)
        read = [entry for index in producers for entry in self.nodes[index].inputs]
        return self._with(read) if read else None

    def attr(self, key: str) -> str | None:
        """An attribute of the node whose outputs these are, `name` included; None if it states none."""
        node = self._only_node()
        if node is None:
            return None
        return node.name if key == "name" else _attributes(node).get(key)

    def list_attr(self) -> dict[str, str]:
        """The attributes of the node whose outputs these are."""
        node = self._only_node()
        return {} if node is None else _attributes(node)

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """The attributes of every node that states some, by the node's name."""
        found: dict[str, dict[str, str]] = {}
        for index in post_order(self.nodes, self.heads):
            stated = _attributes(self.nodes[index])
            if stated:
                found[self.nodes[index].name] = stated
        return found

    def infer_shape(self, *args: object, **kwargs: object) -> Shapes | tuple[None, None, None]:
        """The shapes of arguments, outputs and auxiliary states in three lists; three times None if some stay open.

        Shapes are given by name, or for the arguments in order (None for what is not known). In them 0 is an open size.
        Raises GraphirError for shapes that contradict each other, and TypeError for what is none.
        """
        found = self.infer_shape_partial(*args, **kwargs)
        return found if is_complete(found) else (None, None, None)

    def infer_shape_partial(self, *args: object, **kwargs: object) -> Shapes:
        """`infer_shape` with what is known: () is a shape of which nothing is, 0 an open size."""
        given = self._given("shapes", args, kwargs)
        return infer_shapes(self.records(), self.list_arguments(), self.list_auxiliary_states(), given)

    def infer_type(self, *args: object, **kwargs: object) -> Types | tuple[None, None, None]:
        """The dtypes of arguments, outputs and auxiliary states as numpy's classes; three times None if some stay open.

        Dtypes are given by name, or for the arguments in order (None for what is not known). Raises GraphirError for
        dtypes that contradict each other, and TypeError for what is none.
        """
        found = self.infer_type_partial(*args, **kwargs)
        return (None, None, None) if any(None in group for group in found) else found

    def infer_type_partial(self, *args: object, **kwargs: object) -> Types:
        """`infer_type` with what is known, None for what is not."""
        given = self._given("dtypes", args, kwargs)
        return infer_types(self.records(), self.list_arguments(), self.list_auxiliary_states(), given)

    def tojson(self, remove_amp_cast: bool = True) -> str:
        """The text of a symbol.json that MXNet 1.9.1 reads; without casts of mixed precision unless asked."""
        return to_json(self.records(remove_amp_cast=remove_amp_cast))

    def save(self, fname: str | os.PathLike[str], remove_amp_cast: bool = True) -> None:
        """Write `tojson` to a file. Raises ExportFailure."""
        with replacing(fname) as (file,):
            file.write(self.tojson(remove_amp_cast).encode())

    def records(self, *, remove_amp_cast: bool = False) -> NNVMGraph:
        """The nodes that the outputs depend on, as records of their own."""
        places: dict[int, int] = {}
        passed: dict[Entry, Entry] = {}  # what a cast that goes gave, and what it read

        def moved(entry: Entry) -> Entry:
            return passed[entry] if entry in passed else (places[entry[0]], entry[1])

        nodes: list[NNVMNode] = []
        for index in post_order(self.nodes, self.heads):
            node = self.nodes[index]
            inputs = [moved(entry) for entry in node.inputs]
            if remove_amp_cast and node.op in _CASTS:
                passed.update({(index, slot): source for slot, source in enumerate(inputs)})
                continue
            places[index] = len(nodes)
            nodes.append(NNVMNode(node.op, node.name, node.attrs, node.annotations, inputs, node.subgraphs))
        return NNVMGraph(nodes, [moved(head) for head in self.heads], np_shape=self.np_shape)

    def __getitem__(self, index: int | str | slice) -> Symbol:
        if isinstance(index, slice):
            return self._with(self.heads[index])
        if isinstance(index, int):
            if not -len(self.heads) <= index < len(self.heads):
                raise IndexError(f"the symbol has {len(self.heads)} outputs, none with the number {index}")
            return self._with([self.heads[index]])
        names = self.list_outputs()
        if names.count(index) > 1:
            raise ValueError(f"several outputs of the symbol are named {index!r}; take one by its number")
        if index not in names:
            raise ValueError(f"the symbol has no output named {index!r}; it has {', '.join(names)}")
        return self._with([self.heads[names.index(index)]])

    def __len__(self) -> int:
        return len(self.heads)

    def __iter__(self) -> Iterator[Symbol]:
        return (self._with([head]) for head in self.heads)

    def __repr__(self) -> str:
        if self.name is not None:
            return f"<Symbol {self.name}>"
        return f"<Symbol group [{', '.join(str(symbol.name) for symbol in self)}]>"

    def _with(self, heads: Sequence[Entry]) -> Symbol:
        return Symbol(self.nodes, heads, np_shape=self.np_shape)

    def _only_node(self) -> NNVMNode | None:
        found = {index for index, _ in self.heads}
        return self.nodes[found.pop()] if len(found) == 1 else None

    def _given(self, what: str, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object]:
        """What was given by name or in order, by name; in order None gives nothing."""
        if args and kwargs:
            raise ValueError(f"give {what} by name or in order, not both")
        arguments = self.list_arguments()
        if len(args) > len(arguments):
            raise ValueError(f"{len(args)} {what} are given, the symbol has {len(arguments)} arguments")
        return {name: held for name, held in zip(arguments, args, strict=False) if held is not None} | dict(kwargs)

    def _variables(self, *, states: bool) -> list[str]:
        order = post_order(self.nodes, self.heads)
        held = state_variables(self.nodes, order)
        return [self.nodes[index].name for index in order
                if self.nodes[index].op == VARIABLE and (index in held) == states]  # fmt: skip


def _attributes(node: NNVMNode) -> dict[str, str]:
    """What a node states; of MXNet's own hidden keys also without their underscores."""
    plain = {key: node.annotations[f"__{key}__"] for key in HIDDEN_KEYS if f"__{key}__" in node.annotations}
    return node.attrs | node.annotations | plain


def load(fname: str | os.PathLike[str]) -> Symbol:
    """The symbol of a file of any version. Raises FormatError."""
    return Symbol.of(read_symbol(os.fspath(fname)))


def load_json(json_str: str) -> Symbol:
    """The symbol of a text. Raises FormatError."""
    return Symbol.of(read_symbol(json_str.encode()))


def Group(symbols: Sequence[Symbol]) -> Symbol:
    """The outputs of several symbols as one symbol. Raises TypeError for what is none, or nothing."""
    if isinstance(symbols, Symbol):
        symbols = list(symbols)
    if not symbols or not all(isinstance(symbol, Symbol) for symbol in symbols):
        raise TypeError(f"expected a list of symbols, got {symbols!r}")
    nodes: list[NNVMNode] = []
    heads: list[Entry] = []
    begins: dict[int, int] = {}  # symbols that were taken out of one another share their nodes
    for symbol in symbols:
        begin = begins.setdefault(id(symbol.nodes), len(nodes))
        if begin == len(nodes):
            nodes += [replace(node, inputs=[(begin + index, slot) for index, slot in node.inputs])
                      for node in symbol.nodes]  # fmt: skip
        heads += [(begin + index, slot) for index, slot in symbol.heads]
    return Symbol(nodes, heads, np_shape=any(symbol.np_shape for symbol in symbols))


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(
        f"mx.sym.{name} is not here: these symbols are read, looked into and written, not composed; "
        "to make a network use MXNet, or graphir.Graph"
    )


def symbol_of(source: object) -> Symbol:
    """A symbol of ours, of MXNet's (anything with `tojson`), or of a file."""
    return source if isinstance(source, Symbol) else Symbol.of(read_symbol(source))


__all__ = ["Group", "Symbol", "load", "load_json", "symbol_of"]
