"""What a command judged, as JUnit's XML and as GitHub's workflow commands, whatever names are in it."""

from __future__ import annotations

import pytest

from graphir.report.cases import Case, Result, Suite, failed_suite, models_suite
from graphir.report.ci_formats import SHOWN, command, junit_xml, workflow_commands
from graphir.safety.foreign_text import printable, without_commands

from .judged import annotated, junit, results

HOSTILE = [
    pytest.param("a<b & \"c\" 'd' ]]> <!-- --> <?x?>", id="xml"),
    pytest.param("\x00\x01\x08\x0b\x0c\x1b[2J\x7f\x85", id="control characters"),
    pytest.param("\ud800 \udfff \ufffe \uffff", id="no characters"),
    pytest.param("one\r\n::error::forged\n  ::add-mask::x\n##[error]x", id="workflow commands"),
    pytest.param("100%0A::error::forged,file=x:y", id="escapes"),
    pytest.param("gr\u00fc\u00df \u4e2d\u6587 \U0001f600 \u202e", id="letters"),
    pytest.param("", id="empty"),
]


def suite_of(text: str, result: Result = Result.FAILED) -> Suite:
    case = Case(text, text, result, text, text, text, 0.5)
    return Suite("verify", text, (case,), text, text, text, text, 1.5, {"verdict": text})


@pytest.mark.parametrize("result", Result)
@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_breaks_the_xml(text: str, result: Result) -> None:
    made = junit_xml(suite_of(text, result))
    assert made.isascii()
    assert annotated(made) == []
    suite = junit(made)
    word = {Result.PASSED: "passed", Result.FAILED: "failure"}.get(result, result.value)
    assert list(results(suite).values()) == [word]


def test_letters_and_lines_come_back() -> None:
    suite = junit(junit_xml(suite_of("gr\u00fc\u00df <&>\nsecond")))
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.text == "gr\u00fc\u00df <&>\nsecond"
    assert failure.attrib["message"] == "gr\u00fc\u00df <&>\\nsecond"
    text = "one\n ::error::two\n##[error]three\n##vso[task.setvariable]four"
    failure = junit(junit_xml(suite_of(text))).find("testcase/failure")
    assert failure is not None
    assert failure.text == text


@pytest.mark.parametrize("result", Result)
@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_gives_a_command(text: str, result: Result) -> None:
    told = annotated(without_commands(printable(text)) + "\n" + workflow_commands(suite_of(text, result)))
    assert [kind for kind, *_ in told] == (["error"] * 2 if result in (Result.FAILED, Result.ERROR) else ["notice"])
    assert all(set(given) <= {"title", "file"} for _, given, _ in told)


def test_a_text_is_read_back() -> None:
    ((kind, given, text),) = annotated(command("error", "a: b, c", "50 % of\nit: x,y", "d,e:f%.onnx"))
    assert (kind, given, text) == ("error", {"title": "a: b, c", "file": "d,e:f%.onnx"}, "50 % of\nit: x,y")


@pytest.mark.parametrize(("bad", "lines"), [(0, 1), (1, 2), (SHOWN - 1, SHOWN), (SHOWN, SHOWN), (500, SHOWN)])
def test_no_more_annotations_than_github_shows(bad: int, lines: int) -> None:
    cases = [Case("layers", f"layer {number}", Result.FAILED) for number in range(bad)]
    told = annotated(workflow_commands(models_suite("check", "x", [*cases, Case("layers", "a", Result.PASSED)], "")))
    assert len(told) == lines
    hidden = bad - (lines - 2)
    assert (f"and {hidden} more" in told[-1][2]) is (bad >= SHOWN)


def test_what_could_not_be_judged_is_an_error() -> None:
    suite = junit(junit_xml(failed_suite("verify", "no such file\n  more")))
    assert results(suite) == {"command: verify": "error"}
