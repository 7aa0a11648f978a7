"""What JUnit's XML and GitHub's workflow commands say, read as their readers read them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import xmlschema

SCHEMA = xmlschema.XMLSchema(Path(__file__).with_name("junit.xsd"))
COMMAND = re.compile(r"::(\w[\w-]*)(?: ([^:]*))?::(.*)")


def junit(text: str) -> ET.Element:
    """The only suite of a document that the schema takes and whose counts are right."""
    SCHEMA.validate(text)
    root = ET.fromstring(text)
    (suite,) = root
    cases = suite.findall("testcase")
    for counted, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(suite.attrib[counted]) == sum(case.find(tag) is not None for case in cases), counted
        assert counted == "skipped" or root.attrib[counted] == suite.attrib[counted]
    assert int(suite.attrib["tests"]) == int(root.attrib["tests"]) == len(cases)
    return suite


def results(suite: ET.Element) -> dict[str, str]:
    """Each case, by the last part of its class and its name: passed, skipped, failure or error."""
    words = ("skipped", "failure", "error")
    return {
        f"{case.attrib['classname'].rpartition('.')[2]}: {case.attrib['name']}": next(
            (word for word in words if case.find(word) is not None), "passed"
        )
        for case in suite.findall("testcase")
    }


def annotated(text: str) -> list[tuple[str, dict[str, str], str]]:
    """The commands that GitHub's runner obeys: kind, properties, text. Raises AssertionError for another kind."""
    found: list[tuple[str, dict[str, str], str]] = []
    stopped = ""
    for line in re.split(r"\r\n|\r|\n", text):
        match = COMMAND.match(line.lstrip())
        if stopped:
            stopped = "" if line.strip() == f"::{stopped}::" else stopped
        elif match is not None and match[1] == "stop-commands":
            stopped = match[3]
        elif match is not None:
            assert match[1] in ("notice", "warning", "error"), line
            given = [entry.partition("=") for entry in (match[2] or "").split(",") if entry]
            found.append((match[1], {name: _read(value) for name, _, value in given}, _read(match[3])))
        else:
            assert re.search(r"##\w*\[", line) is None, line
    assert not stopped
    return found


def _read(text: str) -> str:
    for sign, meant in (("%0A", "\n"), ("%0D", "\r"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(sign, meant)
    return text


__all__ = ["annotated", "junit", "results"]
