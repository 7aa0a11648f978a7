"""Cases of boxes that are matched with boxes."""

from __future__ import annotations

import numpy as np

from tests.equivalence.case import Case, Input, case, data, values

GENERATOR = np.random.Generator(np.random.PCG64(13))


def corners(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Boxes whose second corner lies behind the first."""
    low = GENERATOR.uniform(0, 0.6, (*shape, 2))
    return np.concatenate([low, low + GENERATOR.uniform(0.1, 0.4, (*shape, 2))], axis=-1)


def given(array: np.ndarray[tuple[int, ...], np.dtype[np.float64]], name: str) -> Input:
    """An input of these numbers."""
    return values(*map(float, array.ravel()), shape=array.shape, name=name)


def labels(images: int, count: int, *, filled: int, width: int = 5) -> Input:
    """Rows of class and corners; of the first image `filled` ones, then rows of -1, of the last one all."""
    rows = np.concatenate([GENERATOR.integers(0, 3, (images, count, 1)), corners(images, count)], axis=2)
    rows = np.concatenate([rows, np.zeros((images, count, width - 5))], axis=2)
    rows[0, filled:] = -1
    return given(rows, "label")


ANCHORS = given(corners(1, 14), "anchor")
SCORES = {images: data(images, 4, 14, name="cls_pred", kind="distinct") for images in (1, 2, 3)}
ENCODED = (
    given(corners(2, 5), "anchors"), given(corners(2, 3), "refs"), values(0, 0.1, 0.2, 0.3, name="means"),
    values(0.1, 0.1, 0.2, 0.2, name="stds"),
)  # fmt: skip
SAMPLES = values(1, -1, 0, 1, 1, 0.5, 1, 1, -1, 0, shape=(2, 5), name="samples")


def distinct(*shape: int, dtype: str = "float32") -> Input:
    """Scores of which no two are equal."""
    return data(*shape, dtype=dtype, kind="distinct")


CASES: tuple[Case, ...] = (
    case("_contrib_bipartite_matching", "default", distinct(4, 6), threshold=1e-12),
    case("_contrib_bipartite_matching", "tall", distinct(6, 4), threshold=-2.5),
    case("_contrib_bipartite_matching", "ascending", distinct(2, 5, 3), threshold=1.5, is_ascend=True),
    case("_contrib_bipartite_matching", "topk", distinct(2, 5, 4), threshold=-99, topk=2),
    case("_contrib_bipartite_matching", "topk_0", distinct(2, 5, 4), threshold=-99, topk=0),
    case("_contrib_bipartite_matching", "none", distinct(2, 5, 4), threshold=99),
    case("_contrib_bipartite_matching", "leading_axes", distinct(2, 2, 3, 5), threshold=0.3),
    case("_contrib_bipartite_matching", "equal", data(3, 5, 4, kind="halves"), threshold=0),
    case("_contrib_bipartite_matching", "float16", distinct(3, 5, dtype="float16"), threshold=0.1),
    case("_contrib_bipartite_matching", "float64", distinct(2, 3, 5, dtype="float64"), threshold=0.1),
    case("_contrib_box_encode", "default", SAMPLES, values(0, 1, 2, 2, 1, 0, 1, 0, 2, 1, shape=(2, 5), name="matches"),
         *ENCODED),
    case("_contrib_box_encode", "unmatched", SAMPLES,
         values(0, -1, -1, 2, 1, -1, 1, 0, -1, -1, shape=(2, 5), name="matches"), *ENCODED),
    case("_contrib_MultiBoxTarget", "default", ANCHORS, labels(2, 3, filled=2), SCORES[2]),
    case("_contrib_MultiBoxTarget", "no_label", ANCHORS, labels(2, 3, filled=0), SCORES[2], ignore_label=-7),
    case("_contrib_MultiBoxTarget", "wide_labels", ANCHORS, labels(2, 3, filled=2, width=7), SCORES[2]),
    case("_contrib_MultiBoxTarget", "pairs_only", ANCHORS, labels(3, 4, filled=3), SCORES[3], overlap_threshold=0),
    case("_contrib_MultiBoxTarget", "options", ANCHORS, labels(1, 5, filled=4), SCORES[1], overlap_threshold=0.2,
         variances=(0.2, 0.3, 0.4, 0.5), ignore_label=255),
    case("_contrib_MultiBoxTarget", "mining", ANCHORS, labels(2, 3, filled=2), SCORES[2], negative_mining_ratio=1.5,
         ignore_label=-5),
    case("_contrib_MultiBoxTarget", "mining_options", ANCHORS, labels(3, 3, filled=0), SCORES[3],
         overlap_threshold=0.3, negative_mining_ratio=1, negative_mining_thresh=0.9, minimum_negative_samples=4),
)  # fmt: skip

REFUSED: tuple[Case, ...] = (
    case("_contrib_bipartite_matching", "vector", data(4), threshold=0.1),
    case("_contrib_MultiBoxTarget", "three_variances", ANCHORS, labels(2, 3, filled=2), SCORES[2],
         variances=(0.1, 0.1, 0.2)),
)  # fmt: skip
