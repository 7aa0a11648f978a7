"""Verification reports: text and JSON."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from graphir.report.cases import verification_suite
from graphir.report.ci_formats import junit_xml
from graphir.report.html import verification_html
from graphir.report.verification import LAYERS_SHOWN, SETS_NAMED, cause_text, verification_json, verification_text
from graphir.verification.report import Cause, InputSet
from graphir.verification.verdict import Verdict

from .samples import comparison, verification


def test_text_names_the_verdict_and_both_sides() -> None:
    text = verification_text(verification(passes=True))
    assert text.startswith("verified: equal within rounding\n")
    assert "reference  the reference" in text
    assert "2x10" in text


def test_text_of_a_difference() -> None:
    text = verification_text(verification(passes=False))
    assert text.startswith("DIFFERENT: broken")
    assert "BROKEN" in text
    assert "out: they differ" in text


def test_first_divergence_leads_and_the_list_is_bounded() -> None:
    report = verification(passes=False)
    report.layers = [comparison("good")] + [comparison(f"bad{i}", relative=0.5, passes=False) for i in range(20)]
    text = verification_text(report)
    assert "20 of 21 values differ; the first is bad0" in text
    assert f"bad{LAYERS_SHOWN - 1} " in text
    assert f"bad{LAYERS_SHOWN} " not in text
    assert "and 8 more (-v lists all)" in text
    assert "bad19" in verification_text(report, verbose=True)
    assert "The first layer that differs is bad0." in verification_html(report)


def test_json_has_no_infinity() -> None:
    report = verification(passes=False)
    report.layers = [comparison("inf", relative=float("inf"), passes=False)]
    data = json.loads(json.dumps(verification_json(report), allow_nan=False))
    assert data["ok"] is False
    assert data["first_divergence"] == "inf"
    assert data["layers"][0]["relative"] is None
    assert data["layers"][0]["note"] == "they differ"


def test_many_sets_stand_in_one_line_and_those_that_do_not_pass_below_it() -> None:
    report = verification(passes=False)
    good, bad = comparison("out"), comparison("out", relative=0.5, passes=False)
    report.sets = [InputSet(f"file{place}", {"x": "float32[2]"}, (bad if place > 11 else good,)) for place in range(20)]
    text = verification_text(report)
    assert f"20 of inputs: file0, file1, file2, file3, file4, file{SETS_NAMED - 1}, ...;" in text
    assert "file11" not in text
    assert "file12  BROKEN      x float32[2]" in text
    assert f"... and {8 - SETS_NAMED} more that do not pass (-v lists all)" in text
    verbose = verification_text(report, verbose=True)
    assert all(f"file{place}" in verbose for place in range(20))


def test_rows_name_the_set_that_they_come_from() -> None:
    report = verification(passes=True)
    assert "  set  " not in verification_text(report)
    worst = replace(comparison("out"), shape=(3, 10))
    report.outputs = [worst]
    report.sets = [InputSet("normal", {}, (comparison("out"),)), InputSet("edges", {}, (worst,))]
    assert re.search(r"^  out     edges  3x10 ", verification_text(report), re.MULTILINE)
    assert "<small>inputs: edges</small>" in verification_html(report)


INCOMPARABLE = [
    ("the shapes differ: [2, 10] and [2, 11]", "shapes differ"),
    ("infinities or NaN stand in different places", "infinities or NaN"),
    ("the texts differ", "texts differ"),
    ("the candidate has no such output", "no such output"),
]


@pytest.mark.parametrize(("note", "cell"), INCOMPARABLE)
def test_what_has_no_difference_says_so_instead_of_a_number(note: str, cell: str) -> None:
    report = verification(passes=False)
    inf = float("inf")
    report.outputs = [replace(one, max_abs=inf, relative=inf, note=note, shape=(2, 10)) for one in report.outputs]
    report.layers = report.outputs
    text = verification_text(report)
    assert re.search(rf"{cell} +- +1\.0e-07 +-  BROKEN", text)
    assert f"out: {note}" in text
    pages = verification_html(report), junit_xml(verification_suite(report, "a", "b"))
    assert all(note in page for page in pages)
    shown = [re.sub("<script>.*|<[^>]*>", "", page, flags=re.DOTALL) for page in (text, *pages)]
    assert not [page for page in shown if re.search(r"\binf\b", page)]


def test_one_file_is_identical_with_itself_whatever_the_last_bits_are() -> None:
    report = replace(verification(passes=True), same_files=True)
    assert verification_text(report).startswith("verified: identical (both files have the same bytes")
    assert (verification_json(report)["verdict"], verification_json(report)["same_files"]) == ("identical", True)
    different = replace(verification(passes=False), same_files=True)
    assert verification_text(different).startswith("DIFFERENT: broken")


def test_models_of_the_same_nodes_are_identical_whatever_onnxruntime_makes_of_them() -> None:
    report = replace(verification(passes=True), same_nodes=True)
    assert verification_text(report).startswith("verified: identical (every node is the same in both; ")
    assert replace(report, same_nodes=False).verdict is Verdict.NOISE
    assert verification_text(replace(report, outputs=[])).startswith("verified: identical (every output is the same")


def test_what_was_reached_and_what_differs_is_short_unless_it_is_asked_for() -> None:
    report = verification(passes=True)
    report.coverage = [f"way {place} never reached" for place in range(5)]
    report.changes = [f"change {place}" for place in range(9)]
    text = verification_text(report)
    assert ("way 1" in text, "way 2" in text, "change 5" in text, "change 6" in text) == (True, False, True, False)
    assert "... and 3 more of coverage (-v lists all)" in text
    assert "... and 3 more of diff (-v lists all)" in text
    verbose = verification_text(report, verbose=True)
    assert "way 4" in verbose
    assert "change 8" in verbose
    assert "more of" not in verbose


def test_a_floor_that_was_not_measured_is_no_number() -> None:
    report = verification(passes=True)
    report.outputs = [replace(found, floor=0.0) for found in report.outputs]
    assert re.search(r" - +1\.0e-05  equal", verification_text(report))
    report.outputs = [replace(found, relative=0.0, verdict=Verdict.IDENTICAL) for found in report.outputs]
    assert re.search(r" - +1\.0e-05  identical", verification_text(report))
    assert verification_json(report)["outputs"][0]["floor"] is None
    report.outputs = [replace(found, relative=1.0, verdict=Verdict.BROKEN) for found in report.outputs]
    assert re.search(r" 0 +1\.0e-05  BROKEN", verification_text(report))
    assert verification_json(report)["outputs"][0]["floor"] == 0.0


def test_a_reason_is_said_once_and_causes_end_in_a_count() -> None:
    report = verification(passes=True)
    report.unproven = ["the first reason", "another one"]
    report.causes = [Cause(f"layer{number}", "what", ()) for number in range(8)]
    text = verification_text(report)
    assert text.startswith("NOT PROVEN: the first reason\n")
    assert (text.count("the first reason"), text.count("not proven: another one")) == (1, 1)
    assert ("layer4: what" in text, "layer5" in text) == (True, False)
    assert "... and 3 more of cause (-v lists all)" in text
    assert verification_text(report, verbose=True).count("cause: ") == 8
    assert verification_json(report)["unproven"] == report.unproven


def test_layers_that_follow_are_counted() -> None:
    assert [cause_text(Cause("a", "what", tuple("bcd"[:count]))) for count in range(3)] == [
        "a: what", "a: what; 1 layer differs because of it", "a: what; 2 layers differ because of it"
    ]  # fmt: skip
