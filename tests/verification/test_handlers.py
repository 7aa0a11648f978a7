"""Every handler of an exception in verification, and what a failure becomes there: never agreement."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import graphir.verification

ROOT = Path(graphir.verification.__file__).parent
# What a failure becomes, by handler: module, function, exceptions.
HANDLERS = {
    ("causes/layers.py", "_Inquiry.run", "GraphirError"): "the outputs are the causes; a note says why",
    ("causes/layers.py", "_Inquiry.reproduce", "VerificationError"): "a note",
    ("causes/minimal.py", "_result", "GraphirError"): "VerificationError",
    ("causes/side_by_side.py", "SideBySide.compared", "GraphirError"): "NotRun",
    ("causes/trials.py", "_Trials._hidden", "GraphirError"): "not proven",
    ("causes/trials.py", "_Trials._tried", "GraphirError"): "not proven",
    ("causes/trials.py", "_Trials.chooses_alike", "GraphirError"): "the output stays not proven",
    ("detections/detected.py", "compare_as_sets", "suppress VerificationError"): "the output stays a difference",
    ("devices.py", "_with_tf32", "GraphirError"): "a note",
    ("driver.py", "_Driver._takes", "VerificationError"): "the refusal is raised",
    ("driver.py", "_Driver.first", "LiveFailed"): "LiveFailed",
    ("driver.py", "_Driver.first", "VerificationError"): "other sizes are tried, else the refusal is raised",
    ("driver.py", "_Driver.further", "Refused"): "a difference where the candidate alone refuses, else a note",
    ("grading/by_parts.py", "graded_by_parts", "GraphirError"): "the outputs stay differences",
    ("grading/doubts.py", "_differing", "GraphirError"): "the layers stay differences",
    ("grading/compare.py", "_steps", "ValueError"): "the step of a dtype that numpy does not know",
    ("inputs/coverage.py", "coverage", "GraphirError"): "coverage is not measured",
    ("inputs/coverage.py", "coverage", "VerificationError"): "probes with guards",
    ("inputs/coverage.py", "coverage", "_NoRoom"): "coverage is not measured",
    ("inputs/feeds.py", "_state_of_file", "GraphirError"): "the file has no state that is known",
    ("inputs/feeds.py", "file_plan.drawing", "GraphirError"): "inputs are drawn by the session's shapes",
    ("inputs/given.py", "_read_npy", "UNREADABLE"): "VerificationError",
    ("inputs/images.py", "_pillow", "ImportError"): "VerificationError",
    ("inputs/images.py", "_read", "(OSError, ValueError, SyntaxError, module.DecompressionBombError)"): (
        "VerificationError"
    ),
    ("inputs/npz.py", "_in_npz", "(*UNREADABLE, zipfile.BadZipFile, zlib.error)"): "VerificationError",
    ("inputs/open_sizes.py", "_agrees", "ShapeError"): "other sizes are tried",
    ("inputs/state.py", "_Steps.at", "VerificationError"): "the refused step is told; the state stays",
    ("isolated.py", "compare_isolated", "OutOfRuntimeMemory"): "not proven",
    ("isolated.py", "compare_isolated", "RunEnded"): "not proven",
    ("inputs/seeded.py", "sample_sizes", "ShapeError"): "other sizes are tried",
    ("models.py", "_Check._check", "VerificationError"): "VerificationError with what differs between the graphs",
    ("pairs/questions.py", "first_run", "VerificationError"): "other inputs are tried, else the refusal is raised",
    ("pairs/questions.py", "questions", "VerificationError"): "the next question",
    ("pairs/sides.py", "Sides.graphs", "GraphirError"): "graphs are not compared; a note says why",
    ("plain.py", "Plain.run", "VerificationError"): "Refused",
    ("running/candidate.py", "OnnxCandidate._aside", "FormatError"): "onnxruntime says what is wrong with the file",
    ("running/candidate.py", "OnnxCandidate.session", "suppress VerificationError"): "a session without inner values",
    ("running/references.py", "hold_against", "tuple(judge.gives_way)"): "the next reference, with a note",
}


def handlers(node: ast.AST, function: str = "") -> Iterator[tuple[str, str]]:
    """The function and the exceptions of every handler below a node."""
    for child in ast.iter_child_nodes(node):
        name = function
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            name = f"{function}.{child.name}" if function else child.name
        if isinstance(child, ast.ExceptHandler):
            yield name, "" if child.type is None else ast.unparse(child.type)
        if isinstance(child, ast.Call) and ast.unparse(child.func).split(".")[-1] == "suppress":
            yield name, f"suppress {', '.join(map(ast.unparse, child.args))}"
        yield from handlers(child, name)


def test_every_handler_is_listed_with_what_a_failure_becomes() -> None:
    present = {
        (path.relative_to(ROOT).as_posix(), *handler)
        for path in sorted(ROOT.rglob("*.py"))
        for handler in handlers(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert present == HANDLERS.keys()


# What reads a text to decide, and why that text is a name and no sentence.
READS_OF_TEXTS = {
    ("devices.py", "note_devices", "removesuffix"): "a provider's name",
    ("inputs/draws.py", "_integers", "startswith"): "a dtype's name",
    ("inputs/draws.py", "_span", "startswith"): "a dtype's name",
    ("inputs/draws.py", "drawn", "startswith"): "a dtype's name",
    ("inputs/npz.py", "read_feeds", "removeprefix"): "the name of an array in a file",
    ("inputs/open_sizes.py", "_group", "startswith"): "the name of an open size",
    ("pairs/changes.py", "_arrow", "fullmatch"): "a difference is shortened for the report",
    ("pairs/changes.py", "_line", "fullmatch"): "a difference is shortened for the report",
    ("pairs/matches.py", "parse_match", "fullmatch"): "what the user states with --match",
    ("running/candidate.py", "label", "removesuffix"): "a provider's name",
}
TEXT_METHODS = {"startswith", "endswith", "removeprefix", "removesuffix", "match", "search", "fullmatch", "findall"}


def reads_of_texts(node: ast.AST, function: str = "") -> Iterator[tuple[str, str]]:
    """The function and the method of every call below a node that looks into a text."""
    for child in ast.iter_child_nodes(node):
        name = child.name if isinstance(child, ast.FunctionDef) else function
        if isinstance(child, ast.Call) and isinstance(child.func, ast.Attribute) and child.func.attr in TEXT_METHODS:
            yield name, child.func.attr
        yield from reads_of_texts(child, name)


def test_no_sentence_decides_a_verdict() -> None:
    present = {
        (path.relative_to(ROOT).as_posix(), *read)
        for path in sorted(ROOT.rglob("*.py"))
        for read in reads_of_texts(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert present == READS_OF_TEXTS.keys()
