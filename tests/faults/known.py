"""What verify does not find, name or acquit yet, by network and kind, each with the reason.

An entry that is no gap any more is an error where all faults are run (`GRAPHIR_ALL_FAULTS=1`): the list only shrinks.
"""

from __future__ import annotations

GAPS: dict[tuple[str, str], str] = {
    ("detector", "NMS: another least score"): "no input of verify has a score between the two; one of ten here has",
    ("control", "a constant folded wrong"): "found with the inputs here, not with those of verify",
    ("control", "the last index of an ArgMax"): "found with the inputs here, not with those of verify",
}

__all__ = ["GAPS"]
