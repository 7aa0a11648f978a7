"""What is wrong with a model, gathered, so that all of it is said at once."""

from __future__ import annotations

from graphir.errors import Gap, GraphirError, UnsupportedOpError


class Refusal(GraphirError):
    """A function cannot express this node; whoever calls it gathers all of them."""


class QuietRefusal(Refusal):
    """A node cannot be expressed for reasons that are recorded already, such as those of the nodes inside it."""


class NeedsShape(GraphirError):
    """An import function needs a rank or size that nothing in the model fixes."""


class Refusals:
    """What was refused, by operator and reason, and what else is wrong."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._refused: dict[tuple[str, str], list[str]] = {}

    def __len__(self) -> int:
        return len(self.problems) + sum(map(len, self._refused.values()))

    def refuse(self, operator: str, reason: str, node: str) -> None:
        """Record that a node cannot be expressed."""
        self._refused.setdefault((operator, reason), []).append(node)

    @property
    def gaps(self) -> list[Gap]:
        """What was refused; nodes of one operator and reason are one gap."""
        return [Gap(operator, reason, tuple(nodes)) for (operator, reason), nodes in self._refused.items()]

    def raise_gaps(self, text: str) -> None:
        """Raise UnsupportedOpError if anything was refused, its text the number of nodes and then this one."""
        gaps = self.gaps
        if gaps:
            raise UnsupportedOpError(f"{sum(len(gap.nodes) for gap in gaps)} {text}", gaps)

    def copy(self) -> Refusals:
        """What is gathered so far."""
        made = Refusals()
        made.problems += self.problems
        made._refused = {key: list(nodes) for key, nodes in self._refused.items()}
        return made


__all__ = ["NeedsShape", "QuietRefusal", "Refusal", "Refusals"]
