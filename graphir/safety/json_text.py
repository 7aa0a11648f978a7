"""JSON that somebody else may have written: the one reader, which bounds how deep lists and objects nest.

Python's parser has a limit of its own, which depends on its version and on how deep the caller is, and what walks a
document afterwards has lower ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from .limits import current

# Levels of JSON for each level of graphs in graphs, which is what `depth` limits: MXNet's files have four, ours five.
LEVELS_A_GRAPH, OWN_LEVELS = 6, 40
CHUNK = 1 << 20
_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_STRING = re.compile(rb'"[^"]*"?')
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_OTHERS = bytes(set(range(256)) - set(b'[]{}"'))


class NoJson(ValueError):
    """Why a text is not read as JSON; `offset` is the place in characters where that is known."""

    def __init__(self, message: str, offset: int | None = None) -> None:
        super().__init__(message)
        self.offset = offset


def read_json(
    text: str | bytes,
    *,
    pairs: Callable[[list[tuple[str, Any]]], Any] | None = None,
    constant: Callable[[str], Any] | None = None,
) -> Any:
    """Return the document of a text, or of UTF-8. `pairs` makes an object of its members, `constant` a number of NaN
    and Infinity, as in `json.loads`. Raises NoJson, also for a document that nests deeper than the limit `depth`
    allows.

    >>> read_json(b'{"a": [1]}')
    {'a': [1]}
    """
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8-sig")
        allowed = levels_allowed()
        # Of a text with fewer brackets than that none can be too deep.
        if decoded.count("[") + decoded.count("{") > allowed and _nests_deeper(decoded, allowed):
            raise NoJson(f"invalid JSON: lists and objects nest deeper than {allowed} levels (see the limit 'depth')")
        return json.loads(decoded, object_pairs_hook=pairs, parse_constant=constant)
    except NoJson:
        raise
    except json.JSONDecodeError as error:
        position = f"line {error.lineno}, column {error.colno}"
        raise NoJson(f"invalid JSON at {position}: {error.msg}", error.pos) from error
    except UnicodeDecodeError as error:
        raise NoJson(f"invalid JSON: not UTF-8 at byte {error.start}", error.start) from error
    except ValueError as error:  # an integer of thousands of digits, and what `pairs` and `constant` refuse
        raise NoJson(f"invalid JSON: {error}") from error
    except RecursionError as error:
        raise NoJson("invalid JSON: nested too deeply for this program") from error


def levels_allowed() -> int:
    """Return how deep lists and objects may nest."""
    return OWN_LEVELS + LEVELS_A_GRAPH * current().depth


def _nests_deeper(text: str, allowed: int) -> bool:
    """Return whether brackets outside of strings nest deeper."""
    import numpy as np

    data = text.encode("utf-8", "surrogatepass")
    if b"\\" in data:
        data = _ESCAPE.sub(b"", data)
    # Two quotes in a row end and begin strings, or are an empty one: without both, all else is in a string as before.
    left = data.translate(_BRACKETS, _OTHERS).replace(b'""', b"")
    brackets = np.frombuffer(_STRING.sub(b"", left), np.uint8)
    depth = 0
    for start in range(0, brackets.size, CHUNK):
        opens = brackets[start : start + CHUNK] == ord("[")
        depths = depth + np.cumsum(opens.view(np.int8) * np.int8(2) - np.int8(1), dtype=np.int32)
        if depths.max() > allowed:
            return True
        depth = int(depths[-1])
    return False
