"""TensorFlow: graphs as .pb and .pbtxt, SavedModel folders, .meta files, and checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from graphir.converters.tensorflow.dtypes import NAMES
from graphir.converters.tensorflow.files.wire import decode
from graphir.errors import FormatError
from tests.fuzz.bytes_ import mutate_bytes
from tests.fuzz.case import Format, Model, Random, number
from tests.fuzz.json_ import TEXTS
from tests.fuzz.protobuf import BYTES, VARINT, Field, mutate_protobuf, parse, write
from tests.fuzz.seeds import LazySeeds
from tests.tensorflow.checkpoints import INDEX, saved_models, table_of, table_parts
from tests.tensorflow.text import as_text

TARGETS = ("result.onnx", "result.onnx", "result.graphir.json")
NODE, LIBRARY, FUNCTION, FUNCTION_NODE, NODE_NAME, NODE_OP, NODE_INPUT, NODE_ATTR = 1, 2, 1, 3, 1, 2, 3, 5


@cache
def _rows() -> tuple[bytes, ...]:
    """The graphs of the tables of operators, networks and loops; those that are refused too."""
    from tests.tensorflow.recurrent_loops import CASES as LOOPS
    from tests.tensorflow.table import CASES, REFUSED

    found = []
    for place, row in enumerate((*CASES, *REFUSED, *LOOPS)):
        graph = row.graph(("", "batch")[place % 2])
        if len(graph) < 20_000:
            found.append(graph)
    return tuple(found)


@cache
def _operators() -> tuple[str, ...]:
    from graphir.converters.tensorflow.importing.ops import import_table

    return (*import_table(), *TEXTS[:4])


def mutate_graph(chance: Random, data: bytes) -> bytes:
    """A GraphDef with other fields, or with nodes that no longer fit their operators."""
    fields = parse(data)
    if not fields or chance.random() < 0.4:
        return mutate_protobuf(chance, data)
    nodes = _nodes(fields)
    for _ in range(chance.choice((1, 1, 2, 3))):
        if nodes:
            _change_node(chance, chance.choice(nodes), nodes)
    return write(fields)


def _nodes(fields: Sequence[Field]) -> list[list[Field]]:
    """The fields of every node, those of functions too."""
    found = [field.parts for field in fields if field.number == NODE and field.parts]
    for library in fields:
        for function in (library.parts or ()) if library.number == LIBRARY else ():
            found += [field.parts for field in function.parts or () if field.number == FUNCTION_NODE and field.parts]
    return found


def _texts(node: Sequence[Field], kind: int) -> list[bytes]:
    return [field.content if field.parts is None else write(field.parts) for field in node if field.number == kind]


def _change_node(chance: Random, node: list[Field], nodes: Sequence[Sequence[Field]]) -> None:
    """Another operator, another input, or another attribute."""
    places = {kind: [at for at, field in enumerate(node) if field.number == kind] for kind in (2, 3, 5)}
    roll = chance.random()
    if roll < 0.2 and places[NODE_OP]:
        node[places[NODE_OP][0]] = Field(NODE_OP, BYTES, content=chance.choice(_operators()).encode())
    elif roll < 0.55:
        _change_input(chance, node, places[NODE_INPUT], nodes)
    elif places[NODE_ATTR]:
        at = chance.choice(places[NODE_ATTR])
        entry = node[at]
        if entry.parts is None or chance.random() < 0.15:
            del node[at]
            return
        key = [field for field in entry.parts if field.number == 1][:1]
        node[at] = Field(NODE_ATTR, BYTES, parts=[*key, Field(2, BYTES, parts=[_attribute(chance, _kind(entry))])])


def _kind(entry: Field) -> tuple[int, int]:
    """Which field of AttrValue an attribute states, and of ListValue; 0 for none."""
    value = next((field.parts for field in entry.parts or () if field.number == 2 and field.parts), None)
    if not value:
        return 0, 0
    inner = value[0].parts or ()
    return value[0].number, inner[0].number if value[0].number == 1 and inner else 0


def _change_input(chance: Random, node: list[Field], places: list[int], nodes: Sequence[Sequence[Field]]) -> None:
    names = [name for other in nodes for name in _texts(other, NODE_NAME)] or [b"x"]
    name = chance.choice(names) + chance.choice((b"", b"", b"", b":0", b":1", b":9", b":99999999999", b":y:0"))
    fresh = Field(NODE_INPUT, BYTES, content=chance.choice((b"", b"^")) + name if chance.random() < 0.1 else name)
    if not places or chance.random() < 0.3:
        node.append(fresh)
    elif chance.random() < 0.4:
        del node[chance.choice(places)]
    else:
        node[chance.choice(places)] = fresh


def _attribute(chance: Random, held: tuple[int, int]) -> Field:
    """An AttrValue's only field: mostly of the kind that was there, else of any, also as a list."""
    kind, inner = held if held[0] and chance.random() < 0.75 else (chance.randrange(1, 10), 0)
    if kind == 1:
        inner = inner if inner in (2, 3, 4, 5, 6, 7) else chance.choice((2, 3, 5, 6))
        count = chance.choice((0, 1, 2, 3, 4, 5, 30))
        return Field(1, BYTES, parts=[_scalar(chance, inner) for _ in range(count)])
    return _scalar(chance, kind)


def _scalar(chance: Random, kind: int) -> Field:
    if kind in (3, 5):
        return Field(kind, VARINT, number(chance) if chance.random() < 0.6 else chance.randrange(-3, 6))
    if kind == 6:
        return Field(kind, VARINT, chance.choice(tuple(NAMES)) if chance.random() < 0.9 else number(chance))
    if kind == 4:
        return Field(kind, 5, content=chance.choice((b"\0\0\0\0", b"\0\0\x80\x7f", b"\0\0\xc0\x7f", b"\xff" * 4)))
    if kind == 7:
        odd = chance.random() < 0.4
        sizes = [number(chance) if odd else chance.randrange(-2, 5) for _ in range(chance.randrange(6))]
        return Field(7, BYTES, parts=[Field(2, BYTES, parts=[Field(1, VARINT, size)]) for size in sizes])
    if kind == 8:
        return Field(8, BYTES, parts=_tensor(chance))
    return Field(kind, BYTES, content=chance.choice((b"SAME", b"VALID", b"NCHW", b"", b"x", b"\xff", b"sum")))


def _tensor(chance: Random) -> list[Field]:
    """A TensorProto: a dtype, a shape, and elements that may be too few, too many, or one for all."""
    dtype = chance.choice((1, 3, 7, 9, 10, 2, 20, 30))
    count = chance.randrange(4)
    sizes = [number(chance) if chance.random() < 0.2 else chance.randrange(5) for _ in range(count)]
    dims = [Field(2, BYTES, parts=[Field(1, VARINT, size)]) for size in sizes]
    made = [Field(1, VARINT, dtype), Field(2, BYTES, parts=dims)]
    if chance.random() < 0.5:
        field = {3: 7, 9: 10, 10: 11}.get(dtype, 7)
        return [*made, *(Field(field, VARINT, number(chance)) for _ in range(chance.randrange(6)))]
    return [*made, Field(4, BYTES, content=chance.randbytes(chance.choice((0, 1, 4, 8, 16))))]


def _graph_model(index: int) -> Model:
    return Model("m.pb", {"m.pb": _rows()[index]})


def _mutate_pb(chance: Random, model: Model, seeds: Sequence[Model]) -> Model:
    return model.with_file("m.pb", mutate_graph(chance, model.files["m.pb"]))


def _text_model(index: int) -> Model:
    return Model("m.pbtxt", {"m.pbtxt": as_text("GraphDef", decode(memoryview(_rows()[index]), "GraphDef")).encode()})


def _mutate_pbtxt(chance: Random, model: Model, seeds: Sequence[Model]) -> Model:
    """Another graph, another token, or other bytes; lists and messages closed early or never."""
    if chance.random() < 0.4:
        try:
            content = decode(memoryview(mutate_graph(chance, chance.choice(_rows()))), "GraphDef")
        except FormatError:
            return model
        return model.with_file("m.pbtxt", as_text("GraphDef", content).encode("utf-8", "surrogatepass"))
    text = model.files["m.pbtxt"]
    if chance.random() < 0.2:
        return model.with_file("m.pbtxt", mutate_bytes(chance, text))
    words = text.split(b" ")
    for _ in range(chance.choice((1, 1, 2, 4))):
        at = chance.randrange(len(words))
        words[at : at + 1] = _other_words(chance, words, at)
    return model.with_file("m.pbtxt", b" ".join(words))


_TOKENS = (
    b"{", b"}", b"<", b">", b"[", b"]", b":", b",", b'"x"', b"'\\777'", b'"\\UFFFFFFFF"', b"1e999", b"-0x10", b"nan",
    b"9" * 5000, b"0" * 5000, b"node {", b"attr {", b'"unclosed', b"# note", b"DT_FLOAT_REF", b"T" * 3000,
    b"node " + b"{ node " * 300, b"list { " * 300, b"experimental_type " + b"{ a " * 3000,
)  # fmt: skip


def _other_words(chance: Random, words: Sequence[bytes], at: int) -> list[bytes]:
    match chance.randrange(6):
        case 0:
            return []
        case 1:
            return [words[at]] * chance.choice((2, 3, 50))
        case 2:
            return [chance.choice(words)]
        case 3:
            return [str(number(chance)).encode()]
        case _:
            return [words[at], chance.choice(_TOKENS)] if chance.random() < 0.5 else [chance.choice(_TOKENS)]


def _mutate_saved(chance: Random, model: Model, seeds: Sequence[Model]) -> Model:
    """Another protobuf, or another checkpoint beside it."""
    (graph,) = (name for name in model.files if name.endswith((".pb", ".meta")))
    if chance.random() < 0.7:
        return model.with_file(graph, _mutate_meta(chance, model.files[graph], is_meta=graph.endswith(".meta")))
    return _mutate_checkpoint(chance, model, seeds)


def _mutate_meta(chance: Random, data: bytes, *, is_meta: bool) -> bytes:
    """The graph inside changed as a graph is, or anything as any message is."""
    fields = parse(data)
    inner: list[Field] | None = fields
    if fields and not is_meta:
        inner = next((field.parts for field in fields if field.number == 2), None)
    holder = next((field for field in inner or () if field.number == 2 and field.parts), None)
    if not fields or holder is None or chance.random() < 0.5:
        return mutate_protobuf(chance, data)
    changed = mutate_graph(chance, write(holder.parts or []))
    holder.parts, holder.content = None, changed
    return write(fields)


def _mutate_checkpoint(chance: Random, model: Model, seeds: Sequence[Model]) -> Model:
    """Another index: other entries under right checksums, other blocks, or other bytes; or another data file."""
    index = next((name for name in model.files if name.endswith(INDEX)), None)
    if index is None:
        return model
    data = model.files[index]
    roll = chance.random()
    if roll < 0.15:
        name = chance.choice([name for name in model.files if ".data-" in name])
        return model.with_file(name, mutate_bytes(chance, model.files[name]))
    if roll < 0.3:
        return model.with_file(index, mutate_bytes(chance, data))
    return model.with_file(index, table_of(_other_entries(chance, table_parts(data)), chance.randrange))


def _other_entries(chance: Random, entries: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    at = chance.randrange(len(entries))
    key, value = entries[at]
    match chance.randrange(8):
        case 0:
            del entries[at]
        case 1:
            entries[at] = (chance.choice((b"", b"\0", key + b"x", b"\xff" * 9, chance.choice(entries)[0])), value)
        case 2:
            entries[at] = (key, chance.choice(entries)[1])
        case _:
            entries[at] = (key, mutate_protobuf(chance, value))
    return entries


def _rows_lazily(make: Any) -> LazySeeds:
    return LazySeeds(len(_rows()), make)


def _saved(kind: str) -> list[Model]:
    return [Model(entry, files) for entry, files in saved_models() if (entry.endswith(".meta")) == (kind == "meta")]


GRAPH = Format("graphdef", lambda: _rows_lazily(_graph_model), _mutate_pb, TARGETS)
TEXT = Format("pbtxt", lambda: _rows_lazily(_text_model), _mutate_pbtxt, TARGETS)
SAVED_MODEL = Format("saved_model", lambda: _saved("folder"), _mutate_saved, TARGETS)
META = Format("meta", lambda: _saved("meta"), _mutate_saved, TARGETS)
CHECKPOINT = Format("checkpoint", lambda: [*_saved("folder"), *_saved("meta")], _mutate_checkpoint, TARGETS)

FORMATS = (GRAPH, TEXT, SAVED_MODEL, META, CHECKPOINT)

__all__ = ["CHECKPOINT", "FORMATS", "GRAPH", "META", "SAVED_MODEL", "TEXT"]
