"""An operator that orders equal numbers has several right results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest

import graphir
from graphir.arrays import Array
from graphir.verification.equivalence import Models, compare_models
from graphir.verification.pairs.sides import Sides
from graphir.verification.running.candidate import OnnxCandidate
from graphir.verification.running.references import RuntimeReference

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2, 16] x) => (float[2, 6] y) <int64[1] k = {6}> {
  values, places = TopK(x, k)
  indices = Cast<to = 1>(places)
  y = Neg(indices)
}"""


@pytest.mark.parametrize(("offset", "passes"), [(0, True), (1, False)], ids=["equal", "another"])
def test_other_indices_of_equal_numbers_are_right(tmp_path: Path, offset: int, passes: bool) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(MODEL), path)
    feeds = {"x": np.tile(np.array([3, 3, 2, 2, 1, 1, 0, 0], np.float32), (2, 2))}

    class LastFirst(RuntimeReference):
        """A reference in which the last of equal numbers comes first."""

        def stream(self, feeds: Mapping[str, Array], names: Iterable[str]) -> Iterator[tuple[str, Array]]:
            order = np.argsort(feeds["x"], axis=1, kind="stable")[:, ::-1][:, offset : 6 + offset]
            other = {"places": order, "indices": order.astype(np.float32), "y": -order.astype(np.float32)}
            for name, array in super().stream(feeds, names):
                yield name, other.get(name, array)

        def run(self, feeds: Mapping[str, Array], outputs: Sequence[str] | None = None) -> dict[str, Array]:
            return dict(self.stream(feeds, self.outputs if outputs is None else outputs))

    graph = graphir.load(path)
    with OnnxCandidate(path) as candidate:
        models = Models(LastFirst(path), candidate, graph=graph, sides=Sides(graph, graph, made_of=True))
        report = compare_models(models, feeds).report
    assert report.outputs[0].verdict.passes == passes
