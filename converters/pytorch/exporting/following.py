"""What of a module torch.export does not follow: loops, branches and places in lists that depend on data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from graphir.converters.pytorch.exporting.state import Export, Statement

# Headers of blocks that depend on elements of a tensor, a place in a list that does, functions that loop over such.
ON_DATA = re.compile(r"(while|if) |.*\bint\(")
PLACE = re.compile(r"\[int\(|^int\(|^\(?int\(.*len\(")
OVER_DATA = ("non_max_suppression", "box_nms", "multibox_detection", "roi_align", "max_roi_pool")


def note_on_export(export: Export) -> str:
    """Return a sentence about what torch.export does not follow, "" where there is no such thing."""
    texts = [(text, is_header) for text, is_header in _texts(export.statements) if is_header or "int(" in text]
    headers = {text.split(" ")[0] for text, is_header in texts if is_header and ON_DATA.match(text)}
    parts = [f"`{word}`" for word in ("if", "for", "while") if word in headers]
    parts += ["places in lists"] * any(PLACE.search(text) for text, is_header in texts if not is_header)
    parts += [name for name in OVER_DATA if name in export.functions]
    return f"torch.export does not follow what depends on data here: {', '.join(parts)}" if parts else ""


def _texts(statements: Iterable[Statement]) -> Iterator[tuple[str, bool]]:
    """The texts of statements, and whether each is the header of a block."""
    for statement in statements:
        yield statement.text, False
        for header, block in statement.blocks:
            yield header, True
            yield from _texts(block)


__all__ = ["note_on_export"]
