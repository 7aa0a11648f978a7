"""What a user can choose about a quantization."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from graphir.errors import ArgumentError
from graphir.runtime.quantizer import ACTIVATIONS, BLOCKS, METHODS, Precision
from graphir.safety.arguments import PathLike, expect, expect_items
from graphir.structure.record import record

KINDS = ("static", "dynamic", "int4")
SAMPLES = 128
NO_FEEDS = (
    "a static model is calibrated with inputs as they occur: state them with --feeds, a folder of images, .npy or "
    ".npz; or choose --kind dynamic, which needs none"
)
# Options of one kind alone, and their values.
ONLY: Mapping[str, tuple[str, tuple[object, ...]]] = {
    "activations": ("static", tuple(ACTIVATIONS)), "method": ("static", tuple(METHODS)), "block_size": ("int4", BLOCKS),
}  # fmt: skip
# The first opset whose QuantizeLinear has 16 bits.
OPSET_OF_16_BITS = 21


@record
class QuantizeOptions:
    """How a model is quantized, the same for the library and the command; see `graphir.quantize`. What is None has the
    default of its kind. Raises ArgumentError for values that an option does not have."""

    kind: str = "static"
    activations: str | None = None
    method: str | None = None
    per_channel: bool = True
    reduce_range: bool = False
    block_size: int | None = None
    samples: int = SAMPLES
    exclude: Sequence[str] = ()
    accuracy: PathLike | None = None
    max_drop: float | None = None
    max_error: float | None = None
    keep_best: bool = False
    opset: int | None = None
    seconds: float = 3.0
    threads: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        self._expect_one_of("kind", KINDS)
        for name, (_, choices) in ONLY.items():
            if getattr(self, name) is not None:
                self._expect_one_of(name, choices)
        expect_items(self.exclude, str, "exclude", "the name of a node")
        for name in ("max_drop", "max_error"):
            value = getattr(self, name)
            if value is not None and not 0 <= expect(value, (int, float), name) < math.inf:
                raise ArgumentError(f"{name}: expected a finite number that is 0 or more, found {value}")
        if expect(self.samples, int, "samples") < 2:
            raise ArgumentError(f"samples: expected 2 or more, found {self.samples}")
        for name in ("threads", "seed"):
            if expect(getattr(self, name), int, name) < 0:
                raise ArgumentError(f"{name}: expected a number that is 0 or more, found {getattr(self, name)}")
        if not 0 < expect(self.seconds, (int, float), "seconds") < math.inf:
            raise ArgumentError(f"seconds: expected a finite number above 0, found {self.seconds}")

    def check(self) -> None:
        """Raise ArgumentError for options that do not go together."""
        for name, (kind, _) in ONLY.items():
            if getattr(self, name) is not None and self.kind != kind:
                raise ArgumentError(f"{name}: only kind {kind} has it, not {self.kind}")
        if self.kind == "int4" and (self.reduce_range or not self.per_channel):
            raise ArgumentError("per_channel and reduce_range: int4 has one scale a block of weights")
        if self.max_drop is not None and self.max_error is not None:
            raise ArgumentError("max_drop and max_error: state one of them")
        if self.max_drop is not None and self.accuracy is None:
            raise ArgumentError("max_drop needs labelled data: state accuracy, an .npz with `label`")
        if self.keep_best and not self.target:
            raise ArgumentError("keep_best needs a limit: state max_drop or max_error")
        if self.is_16_bit and self.opset is not None and self.opset < OPSET_OF_16_BITS:
            raise ArgumentError(f"activations of 16 bits need opset {OPSET_OF_16_BITS} or newer, found {self.opset}")

    @property
    def precision(self) -> Precision:
        """Return how weights and activations are rounded."""
        return Precision(
            self.kind, self.activations or "uint8", self.method or "minmax", self.per_channel, self.reduce_range,
            self.block_size or 32,
        )  # fmt: skip

    @property
    def is_16_bit(self) -> bool:
        """Return whether activations have 16 bits."""
        return "16" in (self.activations or "")

    @property
    def target(self) -> str:
        """Return the stated limit in words, "" without one."""
        if self.max_drop is not None:
            return f"an accuracy at most {100 * self.max_drop:g} points lower"
        return "" if self.max_error is None else f"an error of at most {self.max_error:g}"

    def _expect_one_of(self, name: str, choices: Sequence[object]) -> None:
        value = getattr(self, name)
        if value not in choices:
            raise ArgumentError(f"{name}={value!r}: expected one of {', '.join(map(str, choices))}")
