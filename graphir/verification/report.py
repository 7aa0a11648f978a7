"""What came out of a comparison of two models."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from graphir.runtime.placement import PlacedNode
from graphir.structure.printed import Printed

from .grading.ranking import Ranking
from .numbers.compare import Comparison
from .verdict import Verdict

if TYPE_CHECKING:
    from .grading.evidence import Evidence

# Smaller ones are those of commands that fail.
EXIT_DIFFERENT = 4
EXIT_NOT_PROVEN = 5


@dataclass(frozen=True)
class InputSet:
    """One set of inputs that both models were run on: its name, dtype and shape of each input, and the outputs."""

    name: str
    feeds: dict[str, str]
    outputs: tuple[Comparison, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of its outputs."""
        return worst(self.outputs)


@dataclass(frozen=True)
class Cause:
    """A layer at which results part: its name in the reference, what is known of the two sides there, and the names of
    the layers that differ because of it."""

    name: str
    what: str
    follows: tuple[str, ...] = ()


@dataclass
class VerificationReport(Printed):
    """The result of a verification: who was compared with whom, on what, and what came out.

    `outputs` holds the worst comparison of each output over all input sets, `sets` those of each set. `unproven` says
    in a sentence each why agreement proves nothing, or not all: with one of them no verdict passes. `coverage` says
    what the inputs reached and what not. `changes` is what `diff` finds between the two models, a line each, of
    `nodes_differing` nodes; `nodes_same` are the same computation in both, whatever the inputs. `layers` is filled by a
    layer-by-layer verification; `first_divergence` is the first of them beyond noise, `causes` are the layers where
    differences begin, `evidence` what the inputs showed of each output (`evidence.unproven` judges it over several
    sets). `rewritten` are layers that differ because one model is written otherwise, with the place where both agree
    again: they are no divergence. `placement` says which node of the candidate ran where. `notes` say what the numbers
    do not: outputs not compared, names that differ. `same_files` says that both models are the same file, or files with
    the same bytes, `same_nodes` whether each node of one is the same in the other, None where no graphs tell it or
    onnxruntime does not run both.
    `narrower` says in which type the candidate computes what the reference computes in one of more digits.
    """

    reference: str
    candidate: str
    feeds: dict[str, str]
    outputs: list[Comparison]
    layers: list[Comparison] = field(default_factory=list)
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    sets: list[InputSet] = field(default_factory=list)
    unproven: list[str] = field(default_factory=list)
    coverage: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    nodes_differing: int = 0
    nodes_same: int = 0
    causes: list[Cause] = field(default_factory=list)
    placement: list[PlacedNode] = field(default_factory=list)
    evidence: Evidence | None = None
    rewritten: dict[str, str] = field(default_factory=dict)
    rankings: list[Ranking] = field(default_factory=list)
    same_files: bool = False
    same_nodes: bool | None = None
    narrower: str = ""

    def __bool__(self) -> bool:
        return self.ok

    def to_text(self, *, verbose: bool = False) -> str:
        """Return the verdict and what it stands on; with `verbose` every layer."""
        text: str = import_module("graphir.report.verification").verification_text(self, verbose=verbose)
        return text

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain data."""
        data: dict[str, Any] = import_module("graphir.report.verification").verification_json(self)
        return data

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all outputs; not proven where they agree and that shows too little.

        Of models that agree, whose graphs tell, those are identical that are the same file or node for node the same:
        whether numbers agree to the last bit is a matter of the inputs where nodes differ, and of onnxruntime's
        optimisations where they do not."""
        found = worst(self.outputs)
        if not found.passes or self.unproven:
            return found if not found.passes else Verdict.NOT_PROVEN
        if self.same_files or self.same_nodes is not None:
            return Verdict.IDENTICAL if self.same_files or self.same_nodes else Verdict.NOISE
        return found

    @property
    def reasons(self) -> list[str]:
        """In a sentence each, why agreement proves nothing, or not all: outputs without a number, then `unproven`."""
        silent = [one for one in self.outputs if one.verdict is Verdict.NOT_PROVEN]
        return [*(f"{one.name}: {one.note}" for one in silent), *self.unproven]

    @property
    def ok(self) -> bool:
        """Whether every output is identical or differs by rounding only, and that proves something."""
        return self.verdict.passes

    @property
    def exit_code(self) -> int:
        """What a command ends with: 0 if the models compute the same, 4 if not, 5 if neither is proven."""
        if self.ok:
            return 0
        return EXIT_DIFFERENT if self.verdict.differs else EXIT_NOT_PROVEN

    @property
    def first_divergence(self) -> Comparison | None:
        """The first layer whose difference is more than rounding, and no other way to write the same; the first
        cause's where that is known."""
        first = next(iter(self.diverging), None)
        named = self.causes[0].name if self.causes else None
        return next((layer for layer in self.diverging if layer.name == named), first)

    @property
    def diverging(self) -> list[Comparison]:
        """The layers that differ by more than rounding, and not because one model is written otherwise."""
        open_ones = [layer for layer in self.layers if not layer.verdict.passes and layer.name not in self.rewritten]
        return [layer for layer in open_ones if layer.verdict is not Verdict.NOT_PROVEN]


def worst(found: list[Comparison] | tuple[Comparison, ...]) -> Verdict:
    """Return the worst verdict; that of nothing is identical."""
    return max(found, key=gravity).verdict if found else Verdict.IDENTICAL


def gravity(one: Comparison) -> int:
    """Return how bad a comparison is. What differs by more than rounding is worse than what cannot be told of another
    value, or on other inputs, because rounding moves that."""
    return list(Verdict).index(one.verdict)
