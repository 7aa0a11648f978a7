"""Pictures of graphs: repeated blocks found and collapsed, laid out in layers, as HTML, SVG, PNG and DOT.

`blocks` finds what repeats and makes a tree of boxes, `levels` says what is wired to what inside each box, `layout`
asks the engine where things stand, `placing` gives them their sizes, `svg`, `page` and `dot` write them.
"""

from __future__ import annotations

from graphir.drawing.picture import Plot, plot

__all__ = ["Plot", "plot"]
