"""Which nodes onnxruntime leaves to another provider than the first, and its reasons, from the log of a start."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from graphir.safety.foreign_text import listing
from graphir.structure.record import record

from .placement import PlacedNode
from .providers import ROWS, import_onnxruntime
from .session import OnnxSession

EVERYTHING, ERRORS = 0, 3  # onnxruntime's numbers of what it logs
# What onnxruntime logs of a node that the first provider does not take, and the reason in words.
REASONS = (
    (re.compile(r"kernel not found in registries for Op type: (?P<operator>\S+) node name: (?P<node>.*)"),
     "{first} has no kernel for its operands"),
    (re.compile(r"Candidate for fallback CPU execution: (?P<node>.*)"),
     "it computes sizes, which onnxruntime leaves to the CPU"),
    (re.compile(r"Fallback to CPU execution provider for Op type: (?P<operator>\S+) node name: (?P<node>.*)"),
     "{first} leaves these attributes to the CPU"),
    (re.compile(r"Force fallback to CPU execution for node: (?P<node>.*?)(?: because|$)"),
     "{first} leaves it to the CPU"),
)  # fmt: skip
PROVIDER = re.compile(r"VerifyEachNodeIsAssignedToAnEp\] +.* placed on \[(?P<provider>\w+)\]\. Number of nodes: (\d+)")
NODE = re.compile(r"VerifyEachNodeIsAssignedToAnEp\] +(?P<operator>\S+) \((?P<node>.*)\)$")


@record
class Fallback:
    """A node that the first provider does not run, and why; the reason is "" where onnxruntime gives none."""

    node: PlacedNode
    reason: str = ""


@record
class Fallbacks:
    """How many nodes run on which provider, and those that do not run on the `first`."""

    first: str
    counts: Mapping[str, int]
    nodes: Sequence[Fallback] = ()

    def table_rows(self) -> list[tuple[str, ...]]:
        """Return operator, number of nodes, provider and reason, the most frequent first."""
        counts = Counter((item.node.operator, item.node.provider, item.reason) for item in self.nodes)
        return [(operator, str(count), *rest) for (operator, *rest), count in counts.most_common()]


class _Started(OnnxSession):
    """A session of which the first provider may run no node."""

    needs_nodes = False

    @property
    def recorded(self) -> Sequence[PlacedNode] | None:
        """The nodes of onnxruntime's record; None without one."""
        return None if self._placement.at_start(self._session) is None else self._placement.nodes()


def find_fallbacks(model: bytes | str | os.PathLike[str], providers: str | Sequence[str]) -> Fallbacks:
    """Start a session and return which nodes the first provider does not run. What onnxruntime prints meanwhile, also
    from other threads of this process, is read and not shown. Raises what `OnnxSession` raises."""
    lines: list[str] = []
    with _capture_stderr(lines):
        session = _Started(model, providers=providers, entries={"log_severity_level": str(EVERYTHING)})
        first, recorded = session.providers[0], session.recorded
        del session  # which logs too when it ends
    nodes, counts = _parse_logged_nodes(lines)
    if recorded is not None:
        nodes, counts = list(recorded), dict(Counter(node.provider for node in recorded))
    reasons = _reasons(lines, first)
    elsewhere = [
        Fallback(node, reasons.get(node.name, "") if node.name else reasons.get(node.operator, ""))
        for node in nodes if node.provider != first
    ]  # fmt: skip
    return Fallbacks(first, counts, elsewhere)


def describe_fallbacks(
    session: OnnxSession, model: str | os.PathLike[str], providers: str | Sequence[str]
) -> list[str]:
    """Return sentences that name the operators of a started session's model that do not run on its first provider, the
    most frequent first, by provider and reason. For the reasons the model is started once more, unless the provider
    gives none. Raises what `OnnxSession` raises."""
    nodes, first = session.nodes(), session.providers[0]
    elsewhere = [Fallback(node) for node in nodes if node.provider != first]
    if elsewhere and ROWS[first.lower()].gives_reasons:
        elsewhere = list(find_fallbacks(model, providers).nodes)
    groups: dict[tuple[str, str], Counter[str]] = {}
    for item in elsewhere:
        groups.setdefault((item.node.provider, item.reason), Counter())[item.node.operator] += 1
    sentences = []
    for (provider, reason), counts in groups.items():
        operators = [operator + (f" ({count})" if count > 1 else "") for operator, count in counts.most_common()]
        text = f"{counts.total()} of {len(nodes)} nodes run on {provider}, not on {first}: {listing(operators)}"
        sentences.append(text + (f" ({reason})" if reason else ""))
    return sentences


def _parse_logged_nodes(lines: Sequence[str]) -> tuple[list[PlacedNode], dict[str, int]]:
    """Return the nodes and counts of the list that onnxruntime logs; it names no node where one provider has all."""
    nodes, counts = [], {}
    provider = ""
    for line in lines:
        if match := PROVIDER.search(line):
            provider = match["provider"]
            counts[provider] = int(match[2])
        elif provider and (match := NODE.search(line)):
            nodes.append(PlacedNode(match["node"], match["operator"], provider))
    return nodes, counts


def _reasons(lines: Sequence[str], first: str) -> dict[str, str]:
    """Return the first reason for each node by its name; for one without a name by its operator."""
    reasons: dict[str, str] = {}
    for line in lines:
        for pattern, reason in REASONS:
            if match := pattern.search(line):
                key = match["node"] or match.groupdict().get("operator") or ""
                reasons.setdefault(key, reason.format(first=first))
    return reasons


@contextmanager
def _capture_stderr(lines: list[str]) -> Iterator[None]:
    """Add to `lines` what is written to this process's standard error in the block; nothing of a block that fails."""
    runtime = import_onnxruntime()
    sys.stderr.flush()
    stderr = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        runtime.set_default_logger_severity(EVERYTHING)
        try:
            yield
        finally:
            runtime.set_default_logger_severity(ERRORS)
            os.dup2(stderr, 2)
            os.close(stderr)
        file.seek(0)
        lines += file.read().decode(errors="replace").splitlines()
