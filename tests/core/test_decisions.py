"""The kinds of decisions: each has a sentence, is taken somewhere, and nothing else is a kind."""

from __future__ import annotations

import importlib.util
import json
import pickle
import re
from pathlib import Path
from typing import Any

import pytest

from graphir.decisions import Decision, DecisionKind
from graphir.errors import ArgumentError
from graphir.graph import Graph
from graphir.serial.reader import load_graph
from graphir.serial.writer import save_graph

ROOT = Path(__file__).resolve().parents[2]


def test_kinds_stand_in_order() -> None:
    assert list(DecisionKind) == sorted(DecisionKind)


@pytest.mark.parametrize("kind", list(DecisionKind))
def test_a_kind_is_its_text_and_has_a_sentence(kind: DecisionKind) -> None:
    assert kind.name == re.sub(r"\W+", "_", kind).upper()
    assert re.fullmatch(r"[A-Z][ -~]+[^ .]\.", kind.meaning)
    assert "|" not in kind.meaning
    assert (f"{kind}", json.dumps(kind), pickle.loads(pickle.dumps(kind))) == (kind.value, f'"{kind}"', kind)


def test_every_kind_is_taken_somewhere() -> None:
    files = [path for folder in ("graphir", "converters") for path in (ROOT / folder).rglob("*.py")]
    taken = set(re.findall(r"DecisionKind\.([A-Z0-9_]+)", "".join(path.read_text("utf-8") for path in files)))
    assert {kind.name for kind in DecisionKind} == taken


@pytest.mark.parametrize("kind", ["padding", "", None, 3])
def test_nothing_else_is_a_kind(kind: Any) -> None:
    with pytest.raises(ArgumentError, match="the kind of a decision: expected a DecisionKind"):
        Graph().decide(kind, "-", "text")


@pytest.mark.parametrize(
    "row, read",
    [
        (("padding", "a", "b"), Decision(DecisionKind.PADDING, "a", "b")),
        (("other", "a", "kept: b"), Decision(DecisionKind.OTHER, "a", "kept: b")),
        (("of a later release", "a", "b"), Decision(DecisionKind.OTHER, "a", "of a later release: b")),
        (("", "", ""), Decision(DecisionKind.OTHER, "", ": ")),
    ],
)
def test_files_may_have_other_kinds(row: tuple[str, str, str], read: Decision, tmp_path: Path) -> None:
    graph = Graph("g")
    graph.decide(DecisionKind.CHECK, "a", "b")
    path = tmp_path / "g.graphir.json"
    save_graph(graph, path)
    written = path.read_text()
    assert '["check", "a", "b"]' in written
    path.write_text(written.replace('["check", "a", "b"]', json.dumps(list(row))))
    loaded = load_graph(path)
    assert loaded.decisions == [read]
    save_graph(loaded, path)
    assert load_graph(path).decisions == [read]


def test_the_page_is_fresh() -> None:
    spec = importlib.util.spec_from_file_location("decision_kinds", ROOT / "tools" / "decision_kinds.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text(encoding="ascii") == module.page(), "run tools/decision_kinds.py --write"
