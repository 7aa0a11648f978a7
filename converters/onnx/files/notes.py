"""What an ONNX model says of its nodes and values beside what they compute: doc strings and metadata.

They stand in the metadata of the graph that the node or value is in, and so stay with it in the graph's own format; on
export they come back to what still has the name. A node goes by its first result that has one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from graphir.converters.onnx.files.records import FIELD
from graphir.safety.json_text import NoJson, read_json
from graphir.structure.record import record

NODE, VALUE, TENSOR, GRAPH = "node", "value", "tensor", "graph"
# The first version of the IR in which nodes, values and graphs have metadata.
METADATA_SINCE = 10


def text_of(stored: str | bytes) -> str:
    """Return a text that changes nothing; odd bytes in it, which protobuf hands out as such, are replaced."""
    return stored.decode("utf-8", "replace") if isinstance(stored, bytes) else stored


def keep_notes(metadata: dict[str, str], kind: str, name: str, proto: Any) -> None:
    """Note in a graph's metadata what a proto in it is documented with."""
    if proto.doc_string:
        metadata[_key(kind, "doc_string", name)] = text_of(proto.doc_string)
    if proto.metadata_props:
        entries = {text_of(entry.key): text_of(entry.value) for entry in proto.metadata_props}
        metadata[_key(kind, "metadata", name)] = json.dumps(entries, ensure_ascii=False)


def keep_graph_notes(metadata: dict[str, str], proto: Any) -> None:
    """The same for a GraphProto, its values and its initializers; nodes are noted one by one."""
    if proto.doc_string:
        metadata[f"{FIELD}graph.doc_string"] = text_of(proto.doc_string)
    if proto.metadata_props:
        keep_notes(metadata, GRAPH, "", type(proto)(metadata_props=proto.metadata_props))
    for info in (*proto.input, *proto.output, *proto.value_info):
        keep_notes(metadata, VALUE, info.name, info)
    for tensor in proto.initializer:
        keep_notes(metadata, TENSOR, tensor.name, tensor)


def keep_node_notes(metadata: dict[str, str], proto: Any) -> None:
    """The same for a NodeProto."""
    if proto.doc_string or proto.metadata_props:
        keep_notes(metadata, NODE, next((name for name in proto.output if name), ""), proto)


@record
class Note:
    """What one message is documented with."""

    doc_string: str = ""
    entries: tuple[tuple[str, str], ...] = ()


NOTHING = Note()


class Notes:
    """The notes in a graph's metadata, on their way back."""

    def __init__(self, metadata: Mapping[str, str]) -> None:
        self._metadata = metadata
        self._kinds = {kind for kind in (NODE, VALUE, TENSOR) if self._has(kind)}

    def _has(self, kind: str) -> bool:
        starts = (_key(kind, "doc_string", ""), _key(kind, "metadata", ""))
        return any(key.startswith(starts) for key in self._metadata)

    def of(self, kind: str, names: Sequence[str]) -> Note:
        """Return what a message that goes by these names is documented with."""
        note = NOTHING
        for name in names if kind in self._kinds else ():
            doc_string = self._metadata.get(_key(kind, "doc_string", name)) or note.doc_string
            entries = _entries(self._metadata.get(_key(kind, "metadata", name)))
            if doc_string or entries:
                note = Note(doc_string, (*note.entries, *entries))
        return note

    def of_graph(self) -> Note:
        """Return what the graph itself is documented with."""
        doc_string = self._metadata.get(f"{FIELD}graph.doc_string", "")
        return Note(doc_string, _entries(self._metadata.get(_key(GRAPH, "metadata", ""))))


def _key(kind: str, what: str, name: str) -> str:
    return f"{FIELD}{kind}.{what}:{name}"


def _entries(text: str | None) -> tuple[tuple[str, str], ...]:
    """Metadata from its JSON; text that somebody else put there instead is left out."""
    try:
        entries = read_json(text or "{}")
    except NoJson:
        return ()
    return tuple([(key, str(value)) for key, value in entries.items()]) if isinstance(entries, dict) else ()


def needs_metadata(metadata: Mapping[str, str]) -> bool:
    """Return whether there is metadata below the model's own, which old versions of ONNX's IR do not have."""
    starts = tuple(_key(kind, "metadata", "") for kind in (NODE, VALUE, TENSOR, GRAPH))
    return any(key.startswith(starts) for key in metadata)
