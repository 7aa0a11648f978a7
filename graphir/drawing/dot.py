"""A picture's nodes in the DOT language, its boxes as clusters, for those who have Graphviz."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from graphir.safety.foreign_text import in_one_line

from .colours import CLASSES, MARKS

if TYPE_CHECKING:
    from .blocks import Box
    from .picture import Plot, PlotSide


def dot_of(plot: Plot) -> str:
    """Return the text: one cluster a box that holds others, wires with their shapes."""
    lines = [f"digraph {quoted(plot.title)} {{", '  node [shape=box, style="filled,rounded", fontname="Helvetica"];']
    lines.append('  edge [fontsize=9, fontname="Helvetica"];')
    for number, side in enumerate(plot.sides):
        lines += _side(side, f"s{number}")
    return "\n".join([*lines, "}", ""])


def quoted(text: object) -> str:
    r"""Return a text in quotes; nothing in it ends them, and no backslash in it acts.

    >>> print(quoted('a"b'), quoted("end\\"))
    "a\"b" "end\\"
    """
    return '"' + re.sub(r'(["\\])', r"\\\1", in_one_line(text)) + '"'


def _side(side: PlotSide, prefix: str) -> Iterator[str]:
    names: dict[Box, str] = {}
    order = [side.root]
    for box in order:
        names[box] = f"{prefix}_{len(names)}"
        order += box.children
    yield f"  subgraph cluster_{prefix} {{"
    yield f"    label={quoted(side.title)};"
    yield from _inside(side.root, side, names, "    ")
    yield "  }"
    makers = {value: box for box in order if box.node is not None for value in box.node.outputs}
    makers |= {box.value: box for box in order if box.kind == "input" and box.value is not None}
    for box in order:
        if box.kind == "output" and box.value is not None:
            read = [box.value]
        else:
            read = [value for value in box.node.inputs if value is not None] if box.node is not None else []
        for value in read:
            if value in makers:
                yield f"  {names[makers[value]]} -> {names[box]} [label={quoted(value.type)}];"


def _inside(box: Box, side: PlotSide, names: dict[Box, str], indent: str) -> Iterator[str]:
    for child in box.children:
        look = side.looks.of[child]
        label = '"' + "\\n".join(quoted(text)[1:-1] for text in (look.title, *look.lines)) + '"'
        if child.children:
            yield f"{indent}subgraph cluster_{names[child]} {{"
            yield f"{indent}  label={quoted(look.title)};"
            yield from _inside(child, side, names, indent + "  ")
            if child.node is None:
                yield f"{indent}}}"
                continue
            indent += "  "
        colour = CLASSES[look.colour][1]
        frame = f", color={quoted(MARKS[look.mark].colour)}, penwidth=3" if look.mark else ""
        yield f"{indent}{names[child]} [label={label}, fillcolor={quoted(colour.light)}{frame}];"
        if child.children:
            indent = indent[:-2]
            yield f"{indent}}}"
