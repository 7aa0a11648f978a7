"""Whether bytes are a TensorFlow graph, by the fields of its messages or the words of its text form."""

from __future__ import annotations

import re

from graphir.converters.kernel.protobuf import BYTES, VARINT, outline
from graphir.errors import FormatError

_GRAPH = {1: BYTES, 2: BYTES, 3: VARINT, 4: BYTES, 5: BYTES}
_NODE = frozenset({1, 2, 3, 4, 5, 6, 7})
_META = frozenset({1, 2, 3, 4, 5, 6, 7})
_SAVED = {1: VARINT, 2: BYTES}
_TEXT = (
    rb"(?:\xef\xbb\xbf)?(?:\s|#[^\n]*\n)*"
    rb"(?:(?:node|library|versions|meta_info_def|graph_def|saver_def|collection_def|signature_def|meta_graphs)\s*:?\s*[{<]"
    rb"|saved_model_schema_version\s*:\s*\d)"
)
# Compiled when they are first needed, which few models do.
_OPERATOR, _NODE_NAME = rb"[A-Za-z0-9_.>-]+", rb"[A-Za-z0-9_./>-]+"


def looks_like_tensorflow(data: bytes | memoryview) -> bool:
    """Return whether this is a GraphDef, a MetaGraphDef or a SavedModel, in binary or text form, perhaps cut short.

    >>> node = bytes([10, 8, 10, 1, 120, 18, 3]) + b"Abs"
    >>> looks_like_tensorflow(node), looks_like_tensorflow(b"node {"), looks_like_tensorflow(bytes([8, 7, 18, 1, 120]))
    (True, True, False)
    """
    view = memoryview(data)
    return looks_like_text(data) or any(
        _is_readable_as(recognizes, view) for recognizes in (_is_graph, _is_meta_graph, _is_saved_model)
    )


def looks_like_text(data: bytes | memoryview) -> bool:
    """Return whether this is the text form: it begins with a field of one of these messages."""
    return re.match(_TEXT, data) is not None


def looks_like_saved_model(data: bytes | memoryview) -> bool:
    """Return whether this is a SavedModel's binary protobuf."""
    return _is_readable_as(_is_saved_model, memoryview(data))


def _is_readable_as(recognizes: object, view: memoryview) -> bool:
    try:
        return bool(recognizes(view, 0, len(view)))  # type: ignore[operator]
    except FormatError:
        return False


def _is_graph(view: memoryview, start: int, end: int) -> bool:
    """Return whether this is a GraphDef: its first node has an operator, or it has functions."""
    functions = False
    for number, wire_type, begin, stop in outline(view, start, end, "GraphDef"):
        if _GRAPH.get(number) != wire_type:
            return False
        if number == 1:
            return _is_node(view, begin, stop)
        functions |= number == 2 and _has_function(view, begin, stop)
    return functions


def _has_function(view: memoryview, start: int, end: int) -> bool:
    """Return whether this is a FunctionDefLibrary: its first function has a signature with a name."""
    for number, wire_type, begin, stop in outline(view, start, end, "FunctionDefLibrary"):
        if number != 1 or wire_type != BYTES:
            return False
        signature = next(outline(view, begin, stop, "FunctionDef"), None)
        if signature is None or signature[:2] != (1, BYTES):
            return False
        name = next(outline(view, signature[2], signature[3], "OpDef"), None)
        return name is not None and name[:2] == (1, BYTES)
    return False


def _is_node(view: memoryview, start: int, end: int) -> bool:
    """Return whether this is a NodeDef: its operator's name is a word. Where the file ends within it, the node's name
    must be one."""
    named = False
    for number, wire_type, begin, stop in outline(view, start, end, "NodeDef"):
        if number not in _NODE or wire_type != BYTES:
            return False
        if number == 2:
            return re.fullmatch(_OPERATOR, view[begin:stop]) is not None
        named |= number == 1 and re.fullmatch(_NODE_NAME, view[begin:stop]) is not None
    return named and end == len(view)


def _is_meta_graph(view: memoryview, start: int, end: int) -> bool:
    for number, wire_type, begin, stop in outline(view, start, end, "MetaGraphDef"):
        if number not in _META or wire_type != BYTES:
            return False
        if number == 2:
            return _is_graph(view, begin, stop)
    return False


def _is_saved_model(view: memoryview, start: int, end: int) -> bool:
    for number, wire_type, begin, stop in outline(view, start, end, "SavedModel"):
        if _SAVED.get(number) != wire_type:
            return False
        if number == 2:
            return _is_meta_graph(view, begin, stop)
    return False
