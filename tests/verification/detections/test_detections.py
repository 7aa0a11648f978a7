"""Detections as sets: what rounding turns is no difference, everything else is."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir.errors import VerificationError
from graphir.graph import Graph
from graphir.ops.detection import BoxNMS, MultiBoxDetection, NonMaxSuppression
from graphir.types import DType, TensorType
from graphir.verification.detections.as_sets import DetectionComparison, Limits, compare_detections, limits_of
from graphir.verification.detections.boxes import (
    DetectionOutputs,
    Detections,
    find_detections,
    overlaps,
    selected_detections,
)
from graphir.verification.detections.cuts import cuts_of, is_cut
from graphir.verification.detections.near_ties import Cuts
from graphir.verification.detections.rows import Give, moved_order, pair_rows
from graphir.verification.grading.compare import noise_limit
from graphir.verification.verdict import Verdict

Floats = NDArray[np.float64]
LIMITS = Limits(5e-6, 5e-6)
OVERLAP = 0.45
CUTS = Cuts((OVERLAP,), (0.01,))
EMPTY = [-1.0] * 6


def suppressed(rows: Floats, overlap: float = OVERLAP, keep: int | None = None) -> Floats:
    """Greedy suppression within each class, best first, filled up with -1; the definition, row by row."""
    kept: list[Floats] = []
    for row in rows[np.argsort(-rows[:, 1], kind="stable")]:
        rivals = np.array([other[2:] for other in kept if other[0] == row[0]]).reshape(-1, 4)
        if row[1] > 0.01 and not (overlaps(row[2:], rivals, 0.0)[0] > overlap).any():
            kept.append(row)
    size = len(rows) if keep is None else keep
    return np.array([*kept, *[EMPTY] * len(rows)])[:size]


def candidates(seed: int, count: int = 80) -> Floats:
    """Rows of three classes in an image of 300 pixels, many of which overlap."""
    generator = np.random.default_rng(seed)
    low = generator.uniform(0, 250, (count, 2))
    boxes = np.concatenate([low, low + generator.uniform(20, 120, (count, 2))], axis=1)
    classes = generator.integers(0, 3, (count, 1))
    return np.concatenate([classes, generator.uniform(0, 1, (count, 1)), boxes], axis=1)


def detections(rows: Floats) -> Detections:
    return DetectionOutputs(("rows",)).read({"rows": np.asarray(rows)[None] if rows.ndim == 2 else rows})


def compared(reference: Floats, candidate: Floats, cuts: Cuts = CUTS) -> DetectionComparison:
    return compare_detections(detections(reference), detections(candidate), limits=LIMITS, cuts=cuts)


ROWS = suppressed(candidates(1))
COUNT = int((ROWS[:, 0] >= 0).sum())


def changed(row: int, column: int, number: float) -> Floats:
    found = ROWS.copy()
    found[row, column] = number
    return found


def better(rows: Floats, row: int) -> Floats:
    """The rows with one that scores a little more."""
    found = rows.copy()
    found[row, 1] += 2e-7
    return found


def without(row: int) -> Floats:
    return np.concatenate([np.delete(ROWS, row, axis=0), [EMPTY]])


def swapped(first: int, second: int) -> Floats:
    found = ROWS.copy()
    found[[first, second]] = found[[second, first]]
    return found


FAULTS = [
    ("a missing box", without(4), "nothing near decides about it"),
    ("the last box missing", without(COUNT - 1), "nothing near decides about it"),
    ("a box too many", np.concatenate([ROWS[:COUNT], [[2, 0.02, 280, 280, 299, 299]], ROWS[COUNT + 1 :]]), "nothing"),
    ("a box doubled", np.concatenate([ROWS[:1], ROWS[:-1]]), "nothing near"),
    ("a box shifted by a pixel", changed(3, 2, ROWS[3, 2] + 1), "nothing near"),
    ("another class", changed(2, 0, (ROWS[2, 0] + 1) % 3), "nothing near"),
    ("another score", changed(0, 1, ROWS[0, 1] - 0.01), "nothing near"),
    ("two rows the other way round", swapped(1, 6), "it stands behind row 6"),
    ("ascending scores", np.concatenate([ROWS[:COUNT][::-1], ROWS[COUNT:]]), "it stands behind row"),
    ("empty rows of zeros with class -1", np.where(ROWS == EMPTY, [-1.0, 0, 0, 0, 0, 0], ROWS), "hold other numbers"),
    ("empty rows in front", np.roll(ROWS, 3, axis=0), "empty rows stand between detections"),
    ("all boxes in other units", ROWS * [1, 1, 0.5, 0.5, 0.5, 0.5], "nothing near"),
    ("x and y exchanged", ROWS[:, [0, 1, 3, 2, 5, 4]], "nothing near"),
    ("no detection at all", np.full_like(ROWS, -1.0), "nothing near"),
    ("another limit of overlaps", suppressed(candidates(1), 0.6), "nothing near"),
]  # fmt: skip


@pytest.mark.parametrize(("candidate", "said"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS])
def test_a_fault_is_a_difference(candidate: Floats, said: str) -> None:
    found = compared(ROWS, candidate)
    assert found.verdict is Verdict.BROKEN
    assert said in found.sentence


def test_a_shift_of_some_roundings_is_suspicious() -> None:
    found = compared(ROWS, changed(3, 2, ROWS[3, 2] + 5 * 5e-6 * 350))
    assert found.verdict is Verdict.SUSPICIOUS


def test_a_result_is_identical_to_itself() -> None:
    found = compared(ROWS, ROWS)
    assert (found.verdict, found.sentence) == (Verdict.IDENTICAL, f"{COUNT} of {COUNT} detections match")


@pytest.mark.parametrize("seed", range(20))
def test_rounding_is_noise(seed: int) -> None:
    rows = candidates(seed)
    moved = rows * (1 + np.random.default_rng(seed + 100).uniform(-1e-6, 1e-6, rows.shape) * [0, 1, 1, 1, 1, 1])
    assert compared(suppressed(rows), suppressed(moved)).verdict is Verdict.NOISE


TIED = np.array([[1, 0.8, 10, 10, 50, 50], [1, 0.8, 200, 10, 250, 50], [0, 0.8, 10, 10, 50, 50], [0, 0.3, 0, 0, 9, 9]])


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_equal_scores_have_no_order(order: tuple[int, int, int]) -> None:
    again = compared(TIED, TIED[[*order, 3]])
    assert again.verdict is (Verdict.IDENTICAL if order == (0, 1, 2) else Verdict.NOISE)
    assert (again.matched, again.near_ties) == (4, ())


def boxes_that_overlap_by(overlap: float) -> Floats:
    """Two boxes of 100 pixels one beside the other, and a third one that the second suppresses."""
    shift = 100 * (1 - overlap) / (1 + overlap)
    return np.array([
        [0, 0.9, 0, 0, 100, 100], [0, 0.8, shift, 0, 100 + shift, 100], [0, 0.7, shift + 30, 0, 130 + shift, 100],
    ])  # fmt: skip


def test_an_overlap_at_the_limit_is_a_near_tie_with_what_follows_from_it() -> None:
    kept = suppressed(boxes_that_overlap_by(OVERLAP - 1e-7))
    gone = suppressed(boxes_that_overlap_by(OVERLAP + 1e-7))
    assert [(rows[:, 0] >= 0).tolist() for rows in (kept, gone)] == [[True, True, False]] * 2
    found = compared(kept, gone)
    assert found.verdict is Verdict.NOISE
    assert (found.matched, len(found.near_ties)) == (1, 2)
    assert "IoU 0.4499999 against 0.45" in found.sentence
    assert "suppressed by row 1, which is there by a near-tie" in found.sentence


def test_an_overlap_that_is_not_at_the_limit_explains_nothing() -> None:
    kept, gone = suppressed(boxes_that_overlap_by(OVERLAP - 1e-3)), suppressed(boxes_that_overlap_by(OVERLAP + 1e-3))
    assert compare_detections(
        detections(kept), detections(np.where(gone[:, :1] == 0, gone, EMPTY)), limits=LIMITS, cuts=CUTS
    ).verdict is Verdict.BROKEN


def test_an_overlap_at_the_limit_needs_a_limit_that_is_known() -> None:
    kept, gone = suppressed(boxes_that_overlap_by(OVERLAP - 1e-7)), suppressed(boxes_that_overlap_by(OVERLAP + 1e-7))
    assert compared(kept, gone, Cuts()).verdict is Verdict.BROKEN


def test_the_better_of_two_equals_is_a_near_tie() -> None:
    rows = np.array([[0, 0.9, 0, 0, 100, 100], [0, 0.9 + 1e-7, 10, 0, 110, 100]])
    turned = better(rows, 0)
    after = detections(suppressed(rows)), detections(suppressed(turned))
    before = detections(rows), detections(turned)
    found = compare_detections(*after, limits=LIMITS, cuts=CUTS, before=before)
    assert (found.verdict, found.matched) == (Verdict.NOISE, 0)
    assert "of which one suppresses the other" in found.sentence
    assert compare_detections(*after, limits=LIMITS, cuts=CUTS).verdict is Verdict.BROKEN  # or else a box is shifted


def test_a_score_at_the_threshold_is_a_near_tie() -> None:
    rows = np.array([[0, 0.9, 0, 0, 100, 100], [1, 0.01 + 1e-7, 10, 0, 110, 100]])
    found = compared(suppressed(rows), suppressed(rows - np.array([[0.0] * 6, [0, 2e-7, 0, 0, 0, 0]])))
    assert found.verdict is Verdict.NOISE
    assert "score 0.0100001 against 0.01" in found.sentence


def test_the_last_place_of_a_full_result_is_a_near_tie() -> None:
    rows = np.array([[0, 0.9, 0, 0, 9, 9], [1, 0.5, 10, 0, 110, 100], [2, 0.5 + 1e-7, 150, 50, 160, 60]])
    turned: Floats = better(rows, 1)
    found = compared(suppressed(rows, keep=2), suppressed(turned, keep=2))
    assert (found.verdict, found.matched) == (Verdict.NOISE, 1)
    assert "against the last one's" in found.sentence


def test_what_a_near_tie_pushes_out_of_a_full_result_follows_from_it() -> None:
    far = [[1, 0.6, 300, 300, 310, 310], [1, 0.5, 400, 400, 410, 410]]
    rows = [np.concatenate([boxes_that_overlap_by(OVERLAP + give)[:2], far]) for give in (1e-7, -1e-7)]
    first, second = (suppressed(each, keep=3) for each in rows)
    found = compared(first, second)
    assert found.verdict is Verdict.NOISE
    assert "pushed out by rows that are there by a near-tie" in found.sentence


def test_a_row_in_the_middle_is_not_pushed_out() -> None:
    rows = [suppressed(boxes_that_overlap_by(OVERLAP + give)[:2], keep=2) for give in (1e-7, -1e-7)]
    other = [[2, 0.95, 300, 300, 310, 310]]
    assert compared(np.concatenate([other, rows[0][:1]]), rows[1]).verdict is Verdict.BROKEN


def test_rows_that_rounding_the_inputs_turns_are_noise() -> None:
    rows = [suppressed(boxes_that_overlap_by(OVERLAP + give)) for give in (1e-7, -1e-7)]
    first, second = (detections(each) for each in rows)
    found = compare_detections(first, second, limits=LIMITS, again=[first])
    assert found.verdict is Verdict.NOISE
    assert "rounding the inputs alone makes it come and go" in found.sentence
    assert compare_detections(first, second, limits=LIMITS, again=[second]).verdict is Verdict.BROKEN


@pytest.mark.parametrize(("moved", "verdict"), [(0.0, Verdict.NOISE), (1.0, Verdict.BROKEN)])
def test_a_row_that_differs_before_the_suppression_is_no_near_tie(moved: float, verdict: Verdict) -> None:
    rows = [boxes_that_overlap_by(OVERLAP + give) for give in (1e-7, -1e-7)]
    rows[1][1, 2] += moved
    after = [detections(suppressed(each)) for each in (rows[0], boxes_that_overlap_by(OVERLAP - 1e-7))]
    before = detections(rows[0]), detections(rows[1])
    found = compare_detections(*after, limits=LIMITS, cuts=CUTS, before=before)
    assert found.verdict is verdict
    assert ("before the suppression" in found.sentence) is (verdict is Verdict.BROKEN)


def test_the_last_of_the_best_that_go_into_a_suppression_is_a_near_tie() -> None:
    rows = np.array([[0, 0.9, 0, 0, 9, 9], [1, 0.5, 10, 0, 110, 100], [2, 0.5 + 1e-7, 50, 50, 60, 60]])
    turned = better(rows, 1)
    before = detections(rows), detections(turned)
    after = [detections(np.concatenate([suppressed(each, keep=2), [EMPTY]])) for each in (rows, turned)]
    cut = Cuts((OVERLAP,), (0.01,), (2,))
    found = compare_detections(*after, limits=LIMITS, cuts=cut, before=before)
    assert found.verdict is Verdict.NOISE
    assert "the last of the best 2" in found.sentence
    assert compare_detections(*after, limits=LIMITS, cuts=cut).verdict is Verdict.BROKEN


def test_rows_suppressed_in_place_are_held_against_each_other() -> None:
    rows = ROWS.copy()
    rows[2, 0] = -1  # as MultiBoxDetection leaves them: class -1, with score and box
    assert compared(rows, rows).verdict is Verdict.IDENTICAL
    other = rows.copy()
    other[2, 2:] += 5
    assert "1 suppressed rows have no counterpart" in compared(rows, other).sentence


def test_what_belongs_to_a_row_goes_with_it() -> None:
    masks = np.random.default_rng(0).normal(size=(1, 4, 3, 3))
    named = {"ids": TIED[None, :, :1], "scores": TIED[None, :, 1:2], "boxes": TIED[None, :, 2:], "masks": masks}
    turned = {name: array[:, [2, 1, 0, 3]] for name, array in named.items()}
    where = find_detections(named)
    assert where == DetectionOutputs(("ids", "scores", "boxes"), ("masks",))
    assert compare_detections(where.read(named), where.read(turned), limits=LIMITS).verdict is Verdict.NOISE
    left = {**turned, "masks": masks}
    found = compare_detections(where.read(named), where.read(left), limits=LIMITS)
    assert found.verdict is Verdict.BROKEN
    assert "a further array differs" in found.sentence


def test_images_are_compared_one_by_one() -> None:
    rows = np.stack([ROWS, suppressed(candidates(2))])
    found = compared(rows, rows[::-1])
    assert found.verdict is Verdict.BROKEN
    assert "image 1, row" in found.differences[-1]
    with pytest.raises(VerificationError, match="detections of 2 images were compared with those of 1"):
        compared(rows, rows[:1])


def test_limits_follow_from_what_rounding_the_inputs_moves() -> None:
    rows = suppressed(candidates(3))
    moved = detections(rows * [1, 1 + 1e-5, 1, 1, 1, 1])
    limits = limits_of(noise_limit, detections(rows), [moved])
    assert limits.score == pytest.approx(20 * 1e-5, rel=1e-3)
    assert limits.box == noise_limit(0.0)


def test_a_line_of_a_report_says_the_same() -> None:
    found = compared(ROWS, changed(0, 1, ROWS[0, 1] * (1 + 1e-6)))
    line = found.comparison("rows", ROWS.shape, LIMITS)
    assert (line.verdict, line.note, line.limit) == (Verdict.NOISE, found.sentence, LIMITS.score)
    assert line.relative == pytest.approx(1e-6, rel=1e-3)
    assert compared(ROWS, without(0)).comparison("rows", ROWS.shape, LIMITS).relative == np.inf


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        ({"y": (1, 9, 6)}, ("y",)),
        ({"x": (3, 4), "y": (2, 9, 7)}, ("y",)),
        ({"a": (1, 9, 1), "b": (1, 9, 1), "c": (1, 9, 4)}, ("a", "b", "c")),
        ({"c": (1, 9, 4), "a": (1, 9), "b": (1, 9)}, ("a", "b", "c")),
        ({"a": (1, 9, 1), "c": (1, 9, 4)}, None),
        ({"a": (1, 9, 5)}, None),
        ({"a": (1, 1000)}, None),
    ],
)
def test_detections_are_found_by_their_shapes(
    outputs: dict[str, tuple[int, ...]], expected: tuple[str, ...] | None
) -> None:
    found = find_detections({name: np.ones(shape, np.float32) for name, shape in outputs.items()})
    assert (None if found is None else found.names) == expected


def test_numbers_that_are_no_classes_are_no_detections() -> None:
    assert find_detections({"y": np.full((1, 9, 6), 0.5)}) is None


def test_scores_may_come_before_classes() -> None:
    outputs = {"scores": np.full((1, 3), 0.5), "boxes": np.ones((1, 3, 4)), "classes": np.array([[0.0, 4.0, -1.0]])}
    found = find_detections(outputs)
    assert found is not None
    assert found.names == ("classes", "scores", "boxes")


def test_selected_indices_are_detections() -> None:
    boxes, scores = np.arange(24.0).reshape(2, 3, 4), np.arange(12.0).reshape(2, 2, 3)
    found = selected_detections(np.array([[1, 0, 2], [1, 1, 0], [0, 1, 1]]), boxes, scores)
    assert found.classes.tolist() == [[1, -1], [0, 1]]
    assert found.scores.tolist() == [[4, -1], [8, 9]]
    assert found.boxes[1].tolist() == [boxes[1, 2].tolist(), boxes[1, 0].tolist()]
    with pytest.raises(VerificationError, match="do not fit boxes"):
        selected_detections(np.array([[0, 2, 0]]), boxes, scores)


@pytest.mark.parametrize("shape", [(1, 9, 5), (9, 6)])
def test_what_has_no_rows_of_detections_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(VerificationError, match="expected"):
        DetectionOutputs(("y",)).read({"y": np.zeros(shape)})
    with pytest.raises(VerificationError, match="do not fit scores and boxes"):
        Detections(np.zeros((1, 2)), np.zeros((1, 3)), np.zeros((1, 2, 4)))


@pytest.mark.parametrize("seed", range(10))
def test_rounding_moves_an_overlap_no_further_than_is_said(seed: int) -> None:
    generator = np.random.default_rng(seed)
    rows = candidates(seed)[:, 2:]
    found, give = overlaps(rows[0], rows[1:], 0.5)
    moved = rows + generator.choice([-0.5, 0.0, 0.5], rows.shape)
    again, _ = overlaps(moved[0], moved[1:], 0.0)
    assert (np.abs(again - found) <= give).all()
    assert (give < 1).all()


def test_a_pairing_is_as_large_as_can_be() -> None:
    scores = (0.5, 0.4, 0.3), (0.45, 0.55, 0.4)
    first, second = (detections(np.array([[0, score, 0, 0, 9, 9] for score in each])) for each in scores)
    rows = np.arange(3), np.arange(3)
    found = pair_rows(first, second, rows, Give(0.1 + 1e-9, 0.0))
    assert len(found.pairs) == 3
    assert moved_order(found, first.scores[0], 0.2) == []


@pytest.mark.parametrize("seed", range(6))
def test_rows_of_about_one_score_are_paired_as_those_of_others(seed: int) -> None:
    generator = np.random.default_rng(seed)
    scores = generator.choice([0.25, 0.5, np.nextafter(0.5, 1), np.inf, -np.inf, np.nan], 200)
    rows = np.concatenate([np.zeros((200, 1)), scores[:, None], generator.uniform(0, 9, (200, 4))], axis=1)
    moved = rows[generator.permutation(200)]
    everything = np.arange(200), np.arange(200)
    found = pair_rows(detections(rows), detections(moved), everything, Give(1e-9, 1e-9))
    assert len(found.pairs) == 200
    first, second = found.pairs.T
    assert np.array_equal(rows[first, 2:], moved[second, 2:])


def test_so_many_differences_are_not_explained_one_by_one() -> None:
    generator = np.random.default_rng(0)
    rows = np.concatenate([np.zeros((900, 1)), np.full((900, 1), 0.5), generator.uniform(0, 9, (900, 4))], axis=1)
    moved = rows + np.array([0, 0, 50, 50, 50, 50])
    found = compare_detections(detections(rows), detections(moved), limits=LIMITS, cuts=CUTS)
    assert found.verdict is Verdict.BROKEN
    assert "so many differ" in found.sentence
    assert len(found.differences) == 1800


def brute_force(pairs: list[tuple[int, int]], scores: Floats, tie: float) -> bool:
    return any(
        first[0] < second[0] and first[1] > second[1] and abs(scores[first[0]] - scores[second[0]]) > tie
        for first in pairs
        for second in pairs
    )


@pytest.mark.parametrize("seed", range(30))
def test_the_order_is_judged_as_by_all_pairs(seed: int) -> None:
    generator = np.random.default_rng(seed)
    scores = np.sort(generator.integers(0, 6, 8))[::-1] / 10
    nearly = np.argsort(-(scores + generator.uniform(0, 0.15, 8)), kind="stable")
    order = generator.permutation(8) if seed % 2 else nearly
    boxes = np.arange(32.0).reshape(8, 4)
    rows = np.concatenate([np.zeros((8, 1)), scores[:, None], boxes], axis=1)
    everything = np.arange(8), np.arange(8)
    found = pair_rows(detections(rows), detections(rows[order]), everything, Give(0.0, 0.0))
    pairs = [(int(old), new) for new, old in enumerate(order)]
    assert sorted(map(tuple, found.pairs.tolist())) == sorted(pairs)
    assert bool(moved_order(found, scores, 0.11)) == brute_force(pairs, scores, 0.11)


def of_operator(make: Callable[[Graph], None]) -> Cuts:
    graph = Graph("detector")
    make(graph)
    return cuts_of(graph)


def box_nms(graph: Graph) -> None:
    data = graph.add_input("data", TensorType(DType.FLOAT32, (1, 9, 6)))
    graph.add_node(BoxNMS(overlap_thresh=0.4, valid_thresh=0.02, topk=5, id_index=0), [data])


def multibox(graph: Graph) -> None:
    shapes = {"scores": (1, 3, 9), "offsets": (1, 36), "anchors": (1, 9, 4)}
    inputs = [graph.add_input(name, TensorType(DType.FLOAT32, shape)) for name, shape in shapes.items()]
    graph.add_node(MultiBoxDetection(threshold=0.2, nms_threshold=0.3, force_suppress=True), inputs)


def suppression(classes: int) -> Callable[[Graph], None]:
    def make(graph: Graph) -> None:
        shapes = {"boxes": (1, 9, 4), "scores": (1, classes, 9)}
        inputs = [graph.add_input(name, TensorType(DType.FLOAT32, shape)) for name, shape in shapes.items()]
        limits = [graph.constant([7], DType.INT64), graph.constant([0.75], DType.FLOAT32), None]
        graph.add_node(NonMaxSuppression(), [*inputs, *limits])

    return make


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (box_nms, Cuts((0.4,), (0.02,), (5,), False)),
        (multibox, Cuts((0.3,), (0.2,), (), True)),
        (suppression(3), Cuts((0.75,), (), (), False)),
        (suppression(1), Cuts((0.75,), (), (), True)),
        (lambda graph: None, Cuts()),
    ],
    ids=["BoxNMS", "MultiBoxDetection", "NonMaxSuppression", "of one class", "none"],
)
def test_the_limits_are_read_from_the_graph(make: Callable[[Graph], None], expected: Cuts) -> None:
    assert of_operator(make) == expected


def test_only_what_is_cut_is_a_set() -> None:
    producers = {
        "kept": ("NonMaxSuppression", ("boxes", "scores")), "rows": ("Gather", ("boxes", "kept")),
        "boxes": ("Conv", ("data",)), "scores": ("Conv", ("data",)),
    }  # fmt: skip
    assert is_cut(producers, ["rows"])
    assert not is_cut(producers, ["rows", "boxes"])
    assert not is_cut(producers, [])
