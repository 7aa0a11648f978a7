"""The colours of a picture: by class of operator, by verdict, in light and in dark.

The hues are those of Okabe and Ito (Color Universal Design, 2008), which people with any kind of colour vision tell
apart; a mark's sign says the same without colour.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from graphir.ops.base import Operator

_RULE = re.compile(r"([^{}]+)(\{[^{}]*\})")


class Colours(NamedTuple):
    """The stripe of a box, its ground in light and its ground in dark."""

    stripe: str
    light: str
    dark: str


CLASSES = {
    "conv": ("convolution", Colours("#0072b2", "#dcebf6", "#12324a")),
    "linear": ("matrix product", Colours("#56b4e9", "#e4f3fc", "#1b3c50")),
    "norm": ("normalization", Colours("#cc79a7", "#f8e8f1", "#472b3b")),
    "act": ("activation", Colours("#e69f00", "#fcf1d8", "#493714")),
    "pool": ("pooling, reduction", Colours("#009e73", "#dcf2ea", "#113c30")),
    "shape": ("shape, index", Colours("#999999", "#efefef", "#333639")),
    "elem": ("elementwise", Colours("#b8a900", "#f8f5d2", "#3e3b13")),
    "seq": ("recurrence, attention", Colours("#7a5bb5", "#ece6f7", "#322a48")),
    "flow": ("control, loop", Colours("#d55e00", "#fbe7da", "#4a2a12")),
    "other": ("other", Colours("#666666", "#e9e9ec", "#2c2d31")),
    "end": ("input, output", Colours("#222222", "#ffffff", "#0f1115")),
    "box": ("several nodes", Colours("#475467", "#f7f8fa", "#1d2127")),
}
_FAMILIES = {
    "activation": "act",
    "attention": "seq",
    "bitwise": "elem",
    "control": "flow",
    "convolution": "conv",
    "elementwise": "elem",
    "extent": "shape",
    "indexing": "shape",
    "linear": "linear",
    "losses": "norm",
    "normalization": "norm",
    "pooling": "pool",
    "quantization": "norm",
    "recurrent": "seq",
    "reduction": "pool",
    "resize": "shape",
    "blocks": "shape",
    "sequence": "shape",
    "shape": "shape",
    "shape_parts": "shape",
    "selection": "shape",
    "slicing": "shape",
}


class MarkLook(NamedTuple):
    """How a verdict or a difference is shown: its place among all (worst last), sign, frame and meaning."""

    rank: int
    sign: str
    colour: str
    meaning: str


MARKS = {
    "same": MarkLook(0, "=", "#8a929e", "same in both"),
    "identical": MarkLook(0, "=", "#009e73", "identical"),
    "agreed": MarkLook(0, "=", "#009e73", "padding agrees"),
    "noise": MarkLook(1, "~", "#56b4e9", "equal within rounding"),
    "elsewhere": MarkLook(2, ">", "#7a5bb5", "runs on another provider"),
    "first": MarkLook(2, "-", "#0072b2", "only in the first"),
    "second": MarkLook(2, "+", "#cc79a7", "only in the second"),
    "not proven": MarkLook(3, "?", "#e69f00", "equal, but these runs cannot reveal a fault"),
    "not deterministic": MarkLook(3, "?", "#e69f00", "differs between runs"),
    "changed": MarkLook(4, "!", "#d55e00", "changed"),
    "padding": MarkLook(4, "!", "#d55e00", "padding differs"),
    "broken": MarkLook(5, "!", "#d55e00", "does not compute the same"),
}


QUIET = frozenset({"", "same", "identical", "agreed", "noise"})
"""The kinds of marks that say that all is well."""


def class_of(op: Operator) -> str:
    """Return the class of an operator, by the family that defines it."""
    return _FAMILIES.get(type(op).__module__.rpartition(".")[2], "other")


def style_sheet(scope: str = "") -> str:
    """Return the rules for an SVG, plain enough for renderers that know little of CSS; dark where the reader's system
    is. With a `scope`, a selector, they are for what is inside of that only.

    >>> ".page .w{" in style_sheet(".page"), ".page" in style_sheet()
    (True, False)
    """
    light = [
        "text{font-family:system-ui,'Segoe UI',Helvetica,Arial,'DejaVu Sans',sans-serif;font-size:11px;fill:#1d2433}",
        ".t{font-size:12px;font-weight:600}.s{fill:#4c5667}.w{fill:none;stroke:#98a2b3;stroke-width:1.2}",
        ".f{paint-order:stroke;stroke:#ffffff;stroke-width:3px;stroke-linejoin:round}.h{fill:#98a2b3}.b{stroke:#98a2b3;stroke-width:1}.f{fill:#667085;font-size:10px}.m{fill:#ffffff;font-weight:700}",
        ".g{fill:none;stroke:#667085;stroke-width:1.2;stroke-dasharray:5 3}.p{fill:#667085;font-size:10px}",
    ]
    light += [f".c-{name}{{fill:{look.light}}}.k-{name}{{fill:{look.stripe}}}" for name, (_, look) in CLASSES.items()]
    light += [f".v-{name}{{fill:none;stroke:{look.colour};stroke-width:3}}" for name, look in MARKS.items()]
    light += [f".n-{name}{{fill:{look.colour}}}" for name, look in MARKS.items()]
    dark = [
        "text{fill:#e6e8ec}.s{fill:#b4bcc8}.w{stroke:#667085}.h{fill:#667085}.b{stroke:#4a5261}.f,.p{fill:#98a2b3}",
        ".k-end{fill:#d5d9e0}.g{stroke:#98a2b3}.f{stroke:#0f1115}",
    ]
    dark += [f".c-{name}{{fill:{look.dark}}}" for name, (_, look) in CLASSES.items()]
    if scope:
        light, dark = ([_add_scope(rules, scope) for rules in sheet] for sheet in (light, dark))
    return "".join(light) + "@media (prefers-color-scheme:dark){" + "".join(dark) + "}"


def _add_scope(rules: str, scope: str) -> str:
    """Return the rules with `scope` before each selector.

    >>> _add_scope(".a,.b{fill:red}.c{x:y}", "#p")
    '#p .a,#p .b{fill:red}#p .c{x:y}'
    """
    matches = _RULE.findall(rules)
    return "".join(
        ",".join(f"{scope} {selector}" for selector in selectors.split(",")) + body for selectors, body in matches
    )
