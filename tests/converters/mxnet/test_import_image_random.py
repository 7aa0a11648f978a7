"""Images changed at random: of many runs, how onnxruntime's results are spread is how MXNet's are."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from graphir.converters.mxnet import from_symbol
from graphir.converters.mxnet.reference.image_processing import flip
from graphir.converters.onnx import to_model
from tests.equivalence.case import Case, Input, case
from tests.equivalence.live import Live
from tests.requirements import needing

RUNS = 400


def image(dtype: str = "float32") -> Input:
    """Pixels whose colours are all different."""
    numbers = (20.0, 90.0, 200.0, 130.0, 60.0, 25.0, 240.0, 10.0, 99.0, 45.0, 177.0, 77.0)
    return Input("data", (2, 2, 3), dtype, values=numbers)


CASES: tuple[Case, ...] = (
    case("_image_random_brightness", "float32", image(), min_factor=0.5, max_factor=1.5),
    case("_image_random_brightness", "uint8", image("uint8"), min_factor=0.5, max_factor=1.5),
    case("_image_random_contrast", "float32", image(), min_factor=0.2, max_factor=1.5),
    case("_image_random_saturation", "float32", image(), min_factor=0.2, max_factor=1.5),
    case("_image_random_hue", "float32", image(), min_factor=0.0, max_factor=0.6),
    case("_image_random_lighting", "float32", image(), alpha_std=0.2),
    case("_image_random_lighting", "uint8", image("uint8"), alpha_std=0.2),
    case("_image_random_color_jitter", "all", image("uint8"), brightness=0.4, contrast=0.4, saturation=0.4, hue=0.1),
    case("_image_random_color_jitter", "two", image(), brightness=0.9, contrast=0.9, saturation=0.0, hue=0.0),
    case("_image_random_flip_left_right", "float32", image()),
    case("_image_random_flip_top_bottom", "uint8", image("uint8")),
)


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    """Live MXNet for the module."""
    with needing("MXNet"), Live() as found:
        yield found


def drawn(row: Case) -> NDArray[np.float64]:
    """What onnxruntime gives in many runs, (runs, numbers)."""
    arrays = row.arrays()
    graph = from_symbol(row.symbol_json(), {}, row.shapes(), dtypes={name: a.dtype for name, a in arrays.items()})
    assert any(decision.kind == "random numbers" for decision in graph.decisions)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(to_model(graph, opset=17).SerializeToString(), options)
    return np.stack([session.run(None, arrays)[0].astype(np.float64).ravel() for _ in range(RUNS)])


@pytest.mark.live
@pytest.mark.parametrize("row", CASES, ids=lambda row: row.name)
def test_results_are_spread_as_mxnets(row: Case, live: Live) -> None:
    with needing("MXNet"):
        runs = [next(iter(live.run(row.symbol_json(), row.arrays()).values())) for _ in range(RUNS)]
    expected = np.stack([run.astype(np.float64).ravel() for run in runs])
    found = drawn(row)
    spread = expected.std(axis=0)
    assert spread.max() > 1
    # Means of RUNS draws are about spread / sqrt(RUNS) apart: six times that is no accident.
    slack = 6 * np.sqrt(2 / RUNS) * np.maximum(spread, found.std(axis=0)) + 1e-3
    assert np.all(np.abs(found.mean(axis=0) - expected.mean(axis=0)) <= slack)
    assert np.all(np.abs(found.std(axis=0) - spread) <= slack)
    for share in (0.1, 0.9):
        apart = np.abs(np.quantile(found, share, axis=0) - np.quantile(expected, share, axis=0))
        assert np.all(apart <= 2 * slack + 1)


def test_a_flipped_image_is_the_image_or_its_mirror() -> None:
    row = CASES[-1]
    (pixels,) = row.arrays().values()
    mirrored = np.asarray(flip(0)({}, pixels)).ravel().astype(np.float64)
    found = drawn(row)
    turned = (found == mirrored).all(axis=1)
    assert np.all(turned | (found == pixels.ravel()).all(axis=1))
    assert 0.3 < turned.mean() < 0.7


@pytest.mark.parametrize("width", [3, 4])
def test_the_middle_column_of_an_odd_number_stays(width: int) -> None:
    row = case("_image_flip_left_right", "odd", Input("data", (2, width, 1), "float32", "distinct"))
    (pixels,) = row.arrays().values()
    graph = from_symbol(row.symbol_json(), {}, row.shapes())
    session = onnxruntime.InferenceSession(to_model(graph, opset=13).SerializeToString())
    assert np.array_equal(session.run(None, row.arrays())[0], pixels[:, ::-1])
    assert any(decision.kind == "undefined elements" for decision in graph.decisions) is (width == 3)
