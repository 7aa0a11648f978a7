"""Verification reports: text and JSON."""

from __future__ import annotations

import json

from graphir.report.html import verification_html
from graphir.report.verification import LAYERS_SHOWN, verification_json, verification_text

from .samples import comparison, verification


def test_text_names_the_verdict_and_both_sides() -> None:
    text = verification_text(verification(passes=True))
    assert text.startswith("verified: noise (the outputs differ by rounding only)")
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
