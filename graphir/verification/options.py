"""What a user can choose about a comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from graphir.errors import ArgumentError, VerificationError
from graphir.safety.arguments import PathLike, expect, expect_items, expect_path
from graphir.structure.record import record

if TYPE_CHECKING:
    from graphir.converters.kernel.live import Live
    from graphir.inputs.given import Feeds

# Bytes that a comparison may take beside the weights, where nothing else is said.
MEMORY_BUDGET = 1 << 30
AGAINST = ("auto", "live", "reference")


@record
class ComparisonOptions:
    """How two models are compared, the same for the library, the commands and the reports; see `graphir.verify`. `tell`
    gets its progress.

    Raises ArgumentError for what does not say how to compare, and VerificationError for an unknown `against`.
    """

    feeds: Feeds | None = None
    seed: int = 0
    rtol: float | None = None
    atol: float | None = None
    per_layer: bool = False
    against: str = "auto"
    providers: str | Sequence[str] = "cpu"
    match: Sequence[str] = ()
    live: Live | None = None
    tell: Callable[[str], None] | None = None
    reproduce: PathLike | None = None
    memory_budget: int = MEMORY_BUDGET

    def __post_init__(self) -> None:
        many = isinstance(self.feeds, list | tuple)
        for one in self.feeds if many else () if self.feeds is None else (self.feeds,):  # type: ignore[union-attr]
            if not isinstance(one, Mapping):
                expect_path(one, "feeds (if not a mapping of arrays by name, or several)")
        if expect(self.seed, int, "seed") < 0:
            raise ArgumentError(f"seed: expected a number that is 0 or more, found {self.seed}")
        for name, value in (("rtol", self.rtol), ("atol", self.atol)):
            expect(value, (int, float, type(None)), name)
        if self.against not in AGAINST:
            raise VerificationError(f"against={self.against!r}: expected one of {', '.join(AGAINST)}")
        if expect(self.memory_budget, int, "memory_budget") <= 0:
            raise ArgumentError(f"memory_budget: expected a number of bytes above 0, found {self.memory_budget}")
        expect_items(self.match, str, "match", "a text such as A=B")
        if self.reproduce is not None:
            expect_path(self.reproduce, "reproduce")
        if self.against == "reference" and self.live is not None and self.live.python is not None:
            raise VerificationError(
                "against='reference' runs no live framework, for which python names an interpreter: leave one out"
            )

    def unused_python(self, *frameworks: str) -> list[str]:
        """Return what to say where an interpreter was named, and no side has a live framework to run in it."""
        if self.live is None or self.live.python is None or any(frameworks):
            return []
        return [f"{self.live.python} was not used: no live framework computes the reference"]
