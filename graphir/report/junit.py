"""What a command judged as JUnit's XML, which CI systems show as tests (GitLab, Jenkins, Azure, Buildkite, GitHub).

There is no standard, only what its readers agree on; the elements and attributes here are those of the schema that
Jenkins' JUnit plugin checks (https://github.com/jenkinsci/xunit-plugin, junit-10.xsd). The document is ASCII: other
letters are character references, and what XML cannot hold (control characters, halves of pairs) is written as an
escape, so that no name in a model can break it.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET

from graphir.safety.foreign_text import one_line, printable, without_commands

from .cases import Case, Result, Suite

HEAD = '<?xml version="1.0" encoding="us-ascii"?>\n'


def junit_xml(suite: Suite) -> str:
    """Return the JUnit document of a suite, which ends in a newline."""
    counts = {
        "tests": str(len(suite.cases)),
        "failures": str(suite.count(Result.FAILED)),
        "errors": str(suite.count(Result.ERROR)),
    }
    time = {} if suite.seconds is None else {"time": f"{suite.seconds:.3f}"}
    root = ET.Element("testsuites", {"name": f"graphir {suite.command}", **counts, **time})
    element = ET.SubElement(
        root, "testsuite",
        {"name": one_line(suite.title), **counts, "skipped": str(suite.count(Result.SKIPPED)), **time},
    )  # fmt: skip
    if suite.properties:
        stated = ET.SubElement(element, "properties")
        for name, value in suite.properties.items():
            ET.SubElement(stated, "property", {"name": name, "value": one_line(value)})
    # A full stop ends a package's name in what Jenkins shows, and a class of its own keeps models apart there.
    model = one_line(suite.file or suite.title).replace(".", "_")
    for case in suite.cases:
        _add_case(element, case, f"graphir.{suite.command}.{model}.{case.group}")
    if suite.text:
        ET.SubElement(element, "system-out").text = printable(suite.text)
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="us-ascii", xml_declaration=False)
    # The document is printed too: as character references, texts that a runner would obey mean the same to XML alone.
    return f"{HEAD}{without_commands(text.decode('ascii'), '&#58;', '&#35;')}\n"


def _add_case(suite: ET.Element, case: Case, group: str) -> None:
    time = {} if case.seconds is None else {"time": f"{case.seconds:.3f}"}
    element = ET.SubElement(suite, "testcase", {"classname": one_line(group), "name": one_line(case.name), **time})
    if case.result is Result.SKIPPED:
        ET.SubElement(element, "skipped", {"message": one_line(case.message)})
    elif case.is_bad:
        word = "error" if case.result is Result.ERROR else "failure"
        problem = ET.SubElement(element, word, {"message": one_line(case.message), "type": one_line(case.kind)})
        problem.text = printable(case.details)
    elif case.details:
        ET.SubElement(element, "system-out").text = printable(case.details)
