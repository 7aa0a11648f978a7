"""What a command judged as CI systems show it: workflow commands of GitHub Actions, and JUnit's XML."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from graphir.safety.foreign_text import one_line, printable, without_commands

from .cases import Case, Result, Suite

# GitHub shows so many annotations of a kind for each step, and drops the others.
SHOWN = 10


def workflow_commands(suite: Suite) -> str:
    """Return a notice if all passed; else a summary error and one error per failed case, as many as GitHub
    shows them."""
    title = f"graphir {suite.command}"
    if suite.ok:
        return command("notice", title, suite.summary, suite.file)
    lines = [command("error", title, f"{suite.summary}\n{suite.why}".rstrip(), suite.file)]
    bad = [case for case in suite.cases if case.is_bad]
    shown = bad if len(bad) < SHOWN else bad[: SHOWN - 2]
    for case in shown:
        text = f"{case.message or case.kind}\n{case.details}".strip()
        lines.append(command("error", f"{title}: {case.group}: {case.name}", text, suite.file))
    if len(shown) < len(bad):
        lines.append(command("error", title, f"and {len(bad) - len(shown):,} more that did not pass", suite.file))
    return "\n".join(lines)


def command(kind: str, title: str, text: str, file: str = "") -> str:
    r"""Return one workflow command: `kind` is notice, warning or error.

    >>> command("error", "a: b", "50 % of x\nis off", "m,1.onnx")
    '::error title=a%3A b,file=m%2C1.onnx::50 %25 of x%0Ais off'
    """
    given = {"title": title, "file": file}
    properties = ",".join(f"{name}={_property(value)}" for name, value in given.items() if value)
    return f"::{kind} {properties}::{_escaped(printable(text))}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(one_line(text)).replace(":", "%3A").replace(",", "%2C")


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
