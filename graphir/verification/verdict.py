"""The words for how two results relate."""

from __future__ import annotations

import enum


class Verdict(enum.Enum):
    """How two results relate, from best to worst.

    Identical, equal within rounding; equal in what cannot show a fault (not proven); the model differs from itself by
    more than rounding explains (not deterministic); a difference that is more than that (broken).
    """

    IDENTICAL = "identical"
    NOISE = "noise"
    NOT_PROVEN = "not proven"
    NOT_DETERMINISTIC = "not deterministic"
    BROKEN = "broken"

    def __str__(self) -> str:
        return "equal within rounding" if self is Verdict.NOISE else self.value

    @property
    def word(self) -> str:
        """The verdict in a column of a table."""
        return "equal" if self is Verdict.NOISE else self.value

    @property
    def passes(self) -> bool:
        """Whether the difference is explained by rounding."""
        return self in (Verdict.IDENTICAL, Verdict.NOISE)

    @property
    def differs(self) -> bool:
        """Whether the results differ by more than rounding; neither this nor `passes` holds where nothing is shown."""
        return self is Verdict.BROKEN

    @property
    def css_class(self) -> str:
        """The verdict as one word, for style sheets and other tables of names."""
        return self.value.replace(" ", "-")
