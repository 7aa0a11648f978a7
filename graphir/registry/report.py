"""What came of a registry: every model's outcome, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from graphir.registry.buckets import Bucket, exit_code
from graphir.registry.jobs import ModelOutcome
from graphir.structure.record import record


@record
class RegistryReport:
    """The outcomes in the order of the models, those of earlier runs included.

    `out` is where the results are, `target` the format that was written, `kept` how many outcomes are of earlier runs,
    `passed` how many files were no models, by kind, `left` how many results lie there of models that are not among the
    sources any more, `older` how many were kept that another release of graphir made.
    """

    out: str
    target: str
    verified: bool
    outcomes: Sequence[ModelOutcome]
    kept: int = 0
    passed: Mapping[str, int] = field(default_factory=dict)
    left: int = 0
    older: int = 0
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        """Return 0 if all are done, 1 if any failed, else 4 if any differs, else 5 if any is not proven."""
        return exit_code(outcome.bucket for outcome in self.outcomes)

    def buckets(self) -> dict[Bucket, list[ModelOutcome]]:
        """Return the outcomes by bucket; buckets in their own order, without the empty ones."""
        grouped = {bucket: [outcome for outcome in self.outcomes if outcome.bucket is bucket] for bucket in Bucket}
        return {bucket: outcomes for bucket, outcomes in grouped.items() if outcomes}

    def operators(self) -> dict[str, int]:
        """Return the unsupported operators with the number of models that need them, most frequent first."""
        counted = Counter(operator for outcome in self.outcomes for operator in outcome.operators)
        return dict(sorted(counted.items(), key=lambda entry: (-entry[1], entry[0])))

    def to_text(self, *, verbose: bool = False) -> str:
        """Return the summary for a terminal; with `verbose` a row of every model."""
        from graphir.report.registry import registry_text

        return registry_text(self, verbose=verbose)

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain data, keys in a fixed order. What is one machine's alone (paths of results,
        stamps) is in the records."""
        return {
            "target": self.target,
            "verified": self.verified,
            "models": len(self.outcomes),
            "buckets": {bucket.value: len(outcomes) for bucket, outcomes in self.buckets().items()},
            "unsupported_operators": self.operators(),
            "passed_over": dict(sorted(self.passed.items())),
            "outcomes": [_row(outcome) for outcome in self.outcomes],
        }


def _row(outcome: ModelOutcome) -> dict[str, Any]:
    row = outcome.to_json()
    for name in ("stamps", "read", "asked"):
        del row[name]
    return row
