"""How the work on a model can end: one bucket for each cause, so that a thousand failures are read as ten."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator

from graphir.errors import (
    FormatError,
    Gap,
    GraphirError,
    LimitError,
    OutOfMemory,
    ProviderError,
    UnsupportedOpError,
    VerificationError,
)
from graphir.runtime.providers import ran_out_of_memory
from graphir.verification.report import VerificationReport

# How every message of graphir says that a shape, or parameters, would help: by the option that takes them.
SHAPES = re.compile(r"\bgive (the|its|their|an?|it a) (input )?(shapes?|sizes)\b|[ (]-i\b")
PARAMETERS = re.compile(r"[ (]-p\b|no parameters (were given|beside)|its folder holds no arrays")


class Bucket(enum.Enum):
    """How the work on a model ended, what was proven first. Members are in the order in which they are listed."""

    DONE = "done"
    DIFFERENT = "different"
    NOT_PROVEN = "not proven"
    UNSUPPORTED = "unsupported operators"
    NEEDS_SHAPES = "needs shapes"
    NEEDS_PARAMETERS = "needs parameters"
    BROKEN = "broken file"
    LIMITS = "refused for limits"
    REFUSED = "cannot be converted"
    UNCHECKED = "check failed"
    TIME = "time-out"
    MEMORY = "out of memory"
    KILLED = "process ended"
    DEFECT = "defect of graphir"

    @property
    def failed(self) -> bool:
        """Return whether the model has no result."""
        return self not in (Bucket.DONE, Bucket.DIFFERENT, Bucket.NOT_PROVEN)


EXIT_FAILED, EXIT_DIFFERENT, EXIT_NOT_PROVEN = 1, 4, 5


def exit_code(buckets: Iterable[Bucket]) -> int:
    """Return 0 if all are done, 1 if any failed, else 4 if any differs, else 5 if any is not proven."""
    kinds = set(buckets)
    if any(bucket.failed for bucket in kinds):
        return EXIT_FAILED
    if Bucket.DIFFERENT in kinds:
        return EXIT_DIFFERENT
    return EXIT_NOT_PROVEN if Bucket.NOT_PROVEN in kinds else 0


def bucket_of_verdict(report: VerificationReport | None) -> Bucket:
    """Return the bucket of a converted model, DONE if no verification was requested."""
    if report is None or report.ok:
        return Bucket.DONE
    return Bucket.DIFFERENT if report.verdict.differs else Bucket.NOT_PROVEN


def bucket_of_error(error: BaseException) -> Bucket:
    """Return the bucket of a model whose conversion raised this error."""
    if any(isinstance(cause, MemoryError | OutOfMemory) for cause in _causes(error)):
        return Bucket.MEMORY
    if any(isinstance(cause, LimitError) for cause in _causes(error)):
        return Bucket.LIMITS
    if isinstance(error, UnsupportedOpError):
        return Bucket.NEEDS_SHAPES if error.gaps and all(map(_needs_shapes, error.gaps)) else Bucket.UNSUPPORTED
    if not isinstance(error, GraphirError):
        return Bucket.REFUSED if isinstance(error, OSError) else Bucket.DEFECT
    text = "\n".join([str(error), *getattr(error, "__notes__", ())])
    if isinstance(error, VerificationError | ProviderError):
        return Bucket.MEMORY if ran_out_of_memory(text) else Bucket.UNCHECKED
    if SHAPES.search(str(error)):  # what is missing first is in the message, what may be missing too in its notes
        return Bucket.NEEDS_SHAPES
    if PARAMETERS.search(text):
        return Bucket.NEEDS_PARAMETERS
    return Bucket.BROKEN if isinstance(error, FormatError) else Bucket.REFUSED


def operators_of(error: BaseException) -> list[str]:
    """Return the unsupported operators of an error, each once."""
    return list(dict.fromkeys(gap.operator for gap in error.gaps)) if isinstance(error, UnsupportedOpError) else []


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes: a plugin's MemoryError is the cause of the plugin's error."""
    while error is not None:
        yield error
        error = error.__cause__


def _needs_shapes(gap: Gap) -> bool:
    return SHAPES.search(gap.reason) is not None
