"""A TensorFlow model opened: the graph that was made of it, and who can compute it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from graphir.converters.formats import Judge, Source
from graphir.structure.record import record

if TYPE_CHECKING:
    from graphir.converters.kernel.live import Live
    from graphir.tensor import Tensor


@record
class TensorFlowModel(Source):
    """A graph, a SavedModel or a model of Keras, and which of its signatures is meant (None: the usual one).

    `weights` are its own. A frozen graph does not say which of its constants were variables: those of floats with an
    axis count as weights.
    """

    source: str | os.PathLike[str] | bytes = ""
    signature: str | None = None
    weights: Mapping[str, Tensor] = field(default_factory=dict)

    def parameters(self) -> dict[str, Tensor]:
        """Return the model's weights, by its own names."""
        return dict(self.weights)

    def judges(self, against: str, live: Live | None = None) -> list[Judge]:
        """Return live TensorFlow as judge, and where no interpreter has it the graph that was imported."""
        from graphir.converters.tensorflow.references import judges

        assert not isinstance(self.source, bytes)
        outputs = [value.name for value in self.graph.outputs]
        return judges(self.source, outputs, self.signature, against, live, self.graph)
