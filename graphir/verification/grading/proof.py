"""What equal outputs prove: something, if they react to the inputs, or if what comes before them was compared.

An output can agree and show nothing. It may be numb: no small change of the inputs changes it. It may be discrete:
equal indices do not show that the scores they were chosen by are equal. It may be empty. Each is shown all the same
where a value before it was compared, passes and reacts. What depends on no input in either model is shown by being
equal once. One set of inputs leaves `Evidence`; `unproven` judges that of all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphir.arrays import Array

if TYPE_CHECKING:
    from graphir.converters.onnx.files.structure import Structure

NUMB = "does not react to small changes of these inputs"
EMPTY = "is empty for these inputs"
FIXED = "depends on no input in the candidate"
FAINT = "is so small that a sigmoid's rounding hides what differs"
DISCRETE = "is discrete, and equal numbers of it do not show that what they are chosen by is equal"
REMEDY = {
    NUMB: "nothing before it that does was compared; other inputs may say more (--feeds)",
    EMPTY: "nothing before it was compared; inputs for which there is something in it say more (--feeds)",
    FIXED: "one set of inputs does not show that it depends on none in the reference",
    FAINT: "nothing before it that reacts was compared; inputs for which it is larger say more (--feeds)",
    DISCRETE: "no value before it was compared",
}


@dataclass(frozen=True)
class Evidence:
    """What one set of inputs showed, by the reference's names of outputs: `doubts` says why an output shows nothing
    itself, `shown` are those of them that what comes before them shows, `digests` tells values of an output apart from
    its values in another set, and `before` does that for the values before an output, compared and equal, that did not
    react here: what is computed from integers does not, since they cannot be moved a little."""

    doubts: Mapping[str, str] = field(default_factory=dict)
    shown: frozenset[str] = frozenset()
    digests: Mapping[str, str] = field(default_factory=dict)
    before: Mapping[str, str] = field(default_factory=dict)


def doubt_sentence(name: str, reason: str) -> str:
    """Return why an output is not proven, as a sentence with what would prove it."""
    return f"{name} {reason}, and {REMEDY[reason]}"


def unproven(found: Sequence[Evidence]) -> dict[str, str]:
    """Return the outputs that no set of inputs shows to be right, though all agree, each with its reason.

    An output that was numb in each set, and yet has other values in another, does react, and so do values before it;
    one that depends on no input in the candidate, and agrees with a reference that gives the same for several sets, is
    what it should be.
    """
    doubts: dict[str, str] = {}
    for name in dict.fromkeys(name for one in found for name in one.doubts):
        reasons = [one.doubts.get(name) for one in found]
        if None in reasons or any(name in one.shown for one in found):
            continue
        if len({one.before[name] for one in found if name in one.before}) > 1:
            continue
        reason = next((reason for reason in reasons if reason != NUMB), NUMB)
        values = {one.digests.get(name) for one in found}
        if (reason == NUMB and len(values) > 1) or (reason == FIXED and len(found) > 1 and len(values) == 1):
            continue
        doubts[name] = reason or NUMB
    return doubts


def doubt(array: Array, *, reacts: bool, exact: bool, fixed: bool, faint: bool) -> str:
    """Why an output that agrees shows nothing, "" if it does. `reacts` says whether moving the inputs changes it,
    `exact` that it is computed from integers alone, `fixed` that it depends on no input in the candidate, `faint` that
    it differs by what a sigmoid's rounding of 1 is, and by more than any other value may."""
    if fixed:
        return FIXED
    if not array.size:
        return EMPTY
    if array.dtype.kind in "iubOUST":
        return "" if exact else DISCRETE
    if faint:
        return FAINT
    return "" if reacts else NUMB


def digest(array: Array) -> str:
    """Tells arrays apart, but not by how often they repeat one row: that a batch has another size is no reaction."""
    import hashlib

    if array.ndim and len(array) and array.dtype.kind in "biufc" and (array == array[:1]).all():
        array = array[:1]
    content = repr(array.tolist()).encode() if array.dtype.kind == "O" else array.tobytes()
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


def before(structure: Structure, output: str) -> list[str]:
    """The computed values that an output depends on, the nearest first."""
    found: dict[str, None] = {}
    pending = [output]
    while pending:
        reached = [
            operand
            for name in pending
            if name in structure.producers
            for operand in structure.operands(name)
            if operand in structure.producers and operand not in found and operand != output
        ]
        pending = list(dict.fromkeys(reached))
        found |= dict.fromkeys(pending)
    return list(found)
