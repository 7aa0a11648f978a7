"""How the second of two models is mended so that a window reads what the first model's reads.

Every fix is complete: what it does not name may stay as it is. `Fixes` says it in plain words; a format whose framework
has words of its own for it derives from that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphir.analysis.windows import Pads, SlidingWindow
from graphir.types import Dim

LOWEST = "-3.4028234663852886e+38"


class Fixes:
    """Fixes in plain words, for a framework of which nothing is known.

    `names` are what it calls a kernel, a stride and a dilation, `filters` what it calls their number.
    """

    names: Mapping[str, str] = {}
    filters = ""

    def attribute(self, kind: str, numbers: Sequence[int]) -> str:
        """Return a kernel, stride or dilation."""
        name = self.names.get(kind)
        return f"{kind} {by(numbers)}" if name is None else f"{name}={self.several(numbers)}"

    def several(self, numbers: Sequence[int]) -> str:
        """Return numbers as an attribute has them."""
        return str(tuple(numbers))

    def filter_count(self, filters: Dim) -> str:
        """Return a number of filters."""
        return f"{self.filters}={filters}" if self.filters else f"{filters} filters"

    def include(self, left: SlidingWindow) -> str:
        """Return the attribute that says whether an average counts its padding, "" where there is none."""
        return ""

    def divisor(self, left: SlidingWindow, right: SlidingWindow) -> str:
        """Return the divisor of `left` for `right`, whose padding is right."""
        has_same_pads = not right.pad_node and left.pads == right.pads and left.ceil_mode == right.ceil_mode
        return (self.include(left) if has_same_pads else "") or self.padding(left, right)

    def padding(self, left: SlidingWindow, right: SlidingWindow) -> str:
        """Return the padding of `left` for `right`, with rounding, divisor, fill and output padding where the two
        differ."""
        if left.transposed:
            more = f", output padding {by(left.output_padding)}" if extra(left) != extra(right) else ""
            return f"crop {listed(left.pads)}, before and after each axis{more}"
        text = f"pad {listed(left.pads)}, before and after each axis"
        if left.fill != right.fill:
            text += f", with {fill_of(left)}"
        if left.ceil_mode != right.ceil_mode:
            text += f", the number of windows rounded {rounding(left)}"
        if left.include != right.include:
            text += f", divided by {left.divisor or 'data'}"
        return text


def by(numbers: Sequence[Dim]) -> str:
    """Return numbers with an x between."""
    return "x".join(map(str, numbers))


def listed(pads: Pads | None) -> str:
    """Return pads as (before, after) of each axis."""
    return "an open number" if pads is None else ", ".join(f"({before}, {after})" for before, after in pads)


def read_pads(window: SlidingWindow) -> Pads:
    """Return what is padded so that rounding down gives the window's own results: with ceil mode also what that
    adds."""
    pads = window.pads or ((0, 0),) * len(window.kernel)
    reached = window.effective_pads if window.ceil_mode else None
    return pads if reached is None else tuple((before, max(after, 0)) for before, after in reached)


def rounding(window: SlidingWindow) -> str:
    """Return which way the number of windows is rounded."""
    return "up" if window.ceil_mode else "down"


def fill_of(window: SlidingWindow) -> str:
    """Return what stands in a window's padding."""
    modes = {"reflect": "a reflection of the data", "edge": "copies of the edges", "wrap": "the data of the other end"}
    if window.fill:
        return modes.get(window.fill, f"the number {window.fill}")
    return "nothing that counts" if window.operator in ("MaxPool", "AveragePool") else "zeros"


def extra(window: SlidingWindow) -> tuple[int, ...]:
    """Return a transposed window's output padding."""
    return window.output_padding or (0,) * len(window.kernel)


def is_mode(fill: str) -> bool:
    """Return whether a fill is a way to repeat the data, not a number."""
    return fill in ("reflect", "edge", "wrap")


PLAIN = Fixes()
