"""The values before saturating heads where two models have no names in common: found by their place.

A softmax that is sure of its answer gives the same for a wrong number. Its operand does not, and heads of one kind at
one output of two models have equal operands if the models are equal (`heads.one_to_one_heads`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .heads import Wiring, is_shiftless, one_to_one_heads

if TYPE_CHECKING:
    from graphir.converters.onnx.files.structure import Structure


@dataclass(frozen=True)
class HiddenHead:
    """A saturating operator at the end of both models, and its operand in each, by the name to ask for it."""

    kind: str
    source: str
    name: str


def hidden_heads(
    reference: Wiring | Structure | None, own: Structure, pairs: Sequence[tuple[str, str]], known: Sequence[str]
) -> list[HiddenHead]:
    """The heads of the paired outputs that both models have, in the reference's order; of several that read the same
    values one, that which sees most of them. `known` are the values that the reference can give."""
    if reference is None:
        return []
    names = set(known)
    aliases = getattr(reference, "aliases", {})
    found: dict[tuple[str, str], HiddenHead] = {}
    for source, name in pairs:
        theirs, here = one_to_one_heads(reference, source), one_to_one_heads(own, name)
        if [kind for kind, _ in theirs] != [kind for kind, _ in here]:
            continue
        for (kind, operand), (_, other) in zip(theirs, here, strict=True):
            asked = next((alias for alias in (operand, *aliases.get(operand, ())) if alias in names), None)
            if asked is not None and (not is_shiftless(kind) or (asked, other) not in found):
                found[asked, other] = HiddenHead(kind, asked, other)
    return list(found.values())


__all__ = ["HiddenHead", "hidden_heads"]
