"""What a user can choose about a model that is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphir.errors import ArgumentError
from graphir.safety.arguments import PathLike, expect, expect_items, expect_mapping, expect_path
from graphir.structure.record import record

KEEP, REFUSE = "keep", "refuse"


@record
class ModelOptions:
    """What a user can choose about a model, the same for the library, the commands and the reports; see `graphir.load`.

    `format` is that of the model where its content and its name do not tell it. With the `state` `refuse` a model that
    keeps state from run to run is refused, not converted with inputs and outputs for it. With `training` what acts in
    training only stays: Dropout and the statistics of normalizations. With `strict` NaN, infinities
    and other values at the edge give what the source gives, at the cost of more nodes.
    """

    params: PathLike | Mapping[str, object] | None = None
    shapes: Mapping[str, object] | None = None
    dtypes: Mapping[str, object] | None = None
    format: str | None = None
    keep_loss: bool = False
    signature: str | None = None
    inputs: Sequence[str] = ()
    outputs: Sequence[str] | None = None
    state: str = KEEP
    training: bool = False
    strict: bool = False

    def __post_init__(self) -> None:
        for name in ("shapes", "dtypes"):
            if getattr(self, name) is not None:
                expect_mapping(getattr(self, name), name)
        if self.params is not None and not isinstance(self.params, Mapping):
            expect_path(self.params, "params (if not a mapping of arrays by name)")
        expect_items(self.inputs, str, "inputs", "a name")
        if self.outputs is not None:
            expect_items(self.outputs, str, "outputs", "a name")
        expect(self.signature, (str, type(None)), "signature")
        if self.state not in (KEEP, REFUSE):
            raise ArgumentError(f"state={self.state!r}: expected {KEEP!r} or {REFUSE!r}")
        expect(self.format, (str, type(None)), "format")

    @property
    def is_cut(self) -> bool:
        """Whether a part of the model is meant, not the whole."""
        return bool(self.inputs) or self.outputs is not None
