"""What a command judged as workflow commands of GitHub Actions, which become annotations of a run.

Source: https://docs.github.com/actions/reference/workflow-commands-for-github-actions. A line that begins with `::`
is a command to the runner, whoever printed it: of other texts the command escapes what would be one.
"""

from __future__ import annotations

from graphir.safety.foreign_text import one_line, printable

from .cases import Suite

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
