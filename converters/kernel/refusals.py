"""What is wrong with a model, gathered, so that all of it is said at once."""

from __future__ import annotations

import re
from collections.abc import Mapping

from graphir.errors import FormatError, Gap, GraphirError, LimitError, OperatorError, UnsupportedOpError
from graphir.inference.rules import UNFIT
from graphir.safety.foreign_text import listing, shortened

# What import functions raise about one node of a model: every importer records all of these, and goes on with the next
# node. The ones of Python's own come from attributes that no check names.
NODE_ERRORS = (GraphirError, *UNFIT, TypeError)
ATTRIBUTES_SHOWN = 12


class Refusal(GraphirError):
    """A function cannot express this node; whoever calls it gathers all of them."""


class QuietRefusal(Refusal):
    """A node cannot be expressed for reasons that are recorded already, such as those of the nodes inside it."""


class NeedsShape(GraphirError):
    """An import function needs a rank or size that nothing in the model fixes."""


class Refusals:
    """What was refused, by operator and reason, and what else is wrong. `cause` is the first error among them."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.cause: Exception | None = None
        self._refused: dict[tuple[str, str], list[str]] = {}

    def __len__(self) -> int:
        return len(self.problems) + sum(map(len, self._refused.values()))

    def refuse(self, operator: str, reason: str, node: str) -> None:
        """Record that a node cannot be expressed."""
        self._refused.setdefault((operator, reason), []).append(node)

    def take(self, operator: str, error: Exception, node: str, attributes: Mapping[str, object]) -> bool:
        """Record one of `NODE_ERRORS` as a refusal. False for a contradiction between shapes, of which other nodes and
        the user's own shapes may be the cause, and for a limit. `attributes` are what the file states of the node."""
        self.cause = self.cause or error
        if isinstance(error, QuietRefusal):
            return True
        is_own = isinstance(error, Refusal | FormatError | OperatorError) and not isinstance(error, LimitError)
        if isinstance(error, GraphirError) and not is_own:
            return False
        reason = str(error)
        if not isinstance(error, GraphirError):
            reason = f"its attributes do not fit its operands: {type(error).__name__}: {reason}"
        if not isinstance(error, Refusal):
            reason = name_attributes(reason, operator, node, attributes)
        self.refuse(operator, reason, node)
        return True

    @property
    def gaps(self) -> list[Gap]:
        """What was refused; nodes of one operator and reason are one gap."""
        return [Gap(operator, reason, tuple(nodes)) for (operator, reason), nodes in self._refused.items()]

    def raise_gaps(self, text: str) -> None:
        """Raise UnsupportedOpError if anything was refused, its text the number of nodes and then this one; it lists
        the other problems too."""
        gaps = self.gaps
        if gaps:
            count = sum(len(gap.nodes) for gap in gaps)
            raise UnsupportedOpError(f"{count} {text}", gaps, self.problems) from self.cause

    def copy(self) -> Refusals:
        """Return what is gathered so far."""
        copy = Refusals()
        copy.problems += self.problems
        copy.cause = self.cause
        copy._refused = {key: list(nodes) for key, nodes in self._refused.items()}
        return copy


def name_attributes(reason: str, operator: str, node: str, attributes: Mapping[str, object]) -> str:
    """Return the reason without the node's name in front, and with what the node states if it names none of that."""
    for prefix in (f"node {node}", f"node {node!r}", f"layer {node}"):
        reason = reason.removeprefix(f"{prefix} ({operator}): ")
    words = set(re.findall(r"\w+", reason))
    if not attributes or not words.isdisjoint(attributes):
        return reason
    stated = [f"{name}={shortened(value)}" for name, value in attributes.items()]
    return f"{reason}; it states {listing(stated, ATTRIBUTES_SHOWN)}"
