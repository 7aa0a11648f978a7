"""Whether bytes are an ONNX model, by the fields of its messages."""

from __future__ import annotations

from graphir.converters.kernel.protobuf import BYTES, VARINT, outline
from graphir.errors import FormatError

_GRAPH = 7
_MODEL = {1: VARINT, 2: BYTES, 3: BYTES, 4: BYTES, 5: VARINT, 6: BYTES, _GRAPH: BYTES, 8: BYTES, 14: BYTES, 20: BYTES,
          25: BYTES, 26: BYTES}  # fmt: skip
_IN_GRAPH = frozenset({1, 2, 5, 10, 11, 12, 13, 14, 15, 16})
_IN_NODE = frozenset({1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
_LOOKED_AT = 4


def looks_like_onnx(data: bytes | memoryview) -> bool:
    """Return whether this is a ModelProto, perhaps cut short: fields of a model, and a graph whose first parts are a
    graph's.

    What comes before the graph decides where there is no graph yet (of a file's first bytes, or of one cut there).

    >>> looks_like_onnx(bytes([0x08, 0x07, 0x12, 0x01, 0x78])), looks_like_onnx(b'{"nodes"')
    (True, False)
    """
    view = memoryview(data)
    seen: set[int] = set()
    try:
        for number, wire_type, start, end in outline(view, 0, len(view), "ModelProto"):
            if _MODEL.get(number, wire_type) != wire_type:
                return False
            if number == _GRAPH:
                return _is_graph(view, start, end)
            seen.add(number)
    except FormatError:
        return False
    return 1 in seen and bool(seen & {2, 3, 4, 5, 6, 8})


def _is_graph(view: memoryview, start: int, end: int) -> bool:
    for count, (number, wire_type, begin, stop) in enumerate(outline(view, start, end, "GraphProto")):
        if number not in _IN_GRAPH or wire_type != BYTES:
            return False
        if number == 1:
            return all(
                inner in _IN_NODE and kind == BYTES for inner, kind, _, _ in outline(view, begin, stop, "NodeProto")
            )
        if count >= _LOOKED_AT:
            break
    return True
