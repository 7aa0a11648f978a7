"""Every handler of an exception in verification and in what draws its inputs: a failure never becomes agreement."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import graphir.verification

ROOT = Path(graphir.verification.__file__).parent
INPUTS = ROOT.parent / "inputs"
# What a failure becomes, by handler: module, function, exceptions.
HANDLERS = {
    ("causes/layers.py", "_Inquiry.reproduce", "VerificationError"): "a note",
    ("causes/minimal.py", "_result", "GraphirError"): "VerificationError",
    ("devices.py", "note_devices", "GraphirError"): "a note",
    ("driver.py", "_Driver._refuses", "VerificationError"): "a difference where the run fails",
    ("driver.py", "_Driver._shapes", "VerificationError"): "the refusal is raised",
    ("driver.py", "_Driver._first", "LiveFailed"): "LiveFailed",
    ("driver.py", "_Driver._first", "VerificationError"): "other sizes are tried, else the refusal is raised",
    ("driver.py", "_Driver._further", "Refused"): "a difference where the candidate alone refuses, else a note",
    ("numbers/compare.py", "_steps", "ValueError"): "the step of a dtype that numpy does not know",
    ("running/coverage.py", "coverage", "GraphirError"): "probes with guards, then coverage is not measured",
    ("inputs/given.py", "_state_of_file", "GraphirError"): "the file has no state that is known",
    ("inputs/given.py", "file_plan.drawing", "GraphirError"): "inputs are drawn by the session's shapes",
    ("inputs/files.py", "read_npy", "UNREADABLE"): "VerificationError",
    ("inputs/files.py", "_pillow", "ImportError"): "VerificationError",
    ("inputs/files.py", "_read", "(OSError, ValueError, SyntaxError, module.DecompressionBombError)"): (
        "VerificationError"
    ),
    ("inputs/files.py", "_in_npz", "(*UNREADABLE, zipfile.BadZipFile, zlib.error)"): "VerificationError",
    ("inputs/sizes.py", "OpenSizes._is_possible", "ShapeError"): "other sizes are tried",
    ("inputs/sets.py", "_StateSteps.at", "VerificationError"): "the refused step is told; the state stays",
    ("isolated.py", "compare_isolated", "OutOfRuntimeMemory"): "not proven",
    ("isolated.py", "compare_isolated", "RunEnded"): "not proven",
    ("models.py", "_Check._check", "VerificationError"): "VerificationError with what differs between the graphs",
    ("pairs/matches.py", "first_run", "VerificationError"): "other inputs are tried, else the refusal is raised",
    ("pairs/matches.py", "questions", "VerificationError"): "the next question",
    ("pairs/sides.py", "Sides.graphs", "GraphirError"): "graphs are not compared; a note says why",
    ("equivalence.py", "_run_both", "VerificationError"): "Refused",
    ("regions/choices.py", "compare_given_choices", "GraphirError"): "NotRun, and regions are asked",
    ("regions/decisions.py", "Decisions.open_rows", "GraphirError"): "not proven, with the reason",
    ("regions/judge.py", "judge", "GraphirError"): "NotRun",
    ("regions/trials.py", "_Trials._compare", "GraphirError"): "NotRun, of each part that is refused alone",
    ("running/candidate.py", "OnnxCandidate._extra_values", "FormatError"): "onnxruntime reports what is wrong",
    ("running/candidate.py", "OnnxCandidate.session", "suppress VerificationError"): "a session without inner values",
    ("models.py", "hold_against", "tuple(judge.gives_way)"): "the next reference, with a note",
}


Seen = Callable[[ast.AST], str | None]


def handled(node: ast.AST) -> str | None:
    """The exceptions that a node handles; None for one that handles none."""
    if isinstance(node, ast.ExceptHandler):
        return "" if node.type is None else ast.unparse(node.type)
    if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "suppress":
        return f"suppress {', '.join(map(ast.unparse, node.args))}"
    return None


def text_method(node: ast.AST) -> str | None:
    """The method of a call that looks into a text; None for another node."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in TEXT_METHODS:
        return node.func.attr
    return None


def below(node: ast.AST, seen: Seen, function: str = "") -> Iterator[tuple[str, str]]:
    """The function around every node below one in which something is `seen`, and what that is."""
    for child in ast.iter_child_nodes(node):
        name = function
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            name = f"{function}.{child.name}" if function else child.name
        found = seen(child)
        if found is not None:
            yield name, found
        yield from below(child, seen, name)


def in_verification(seen: Seen) -> set[tuple[str, str, str]]:
    """Module, function and what is seen there, of all modules of verification and of `inputs`."""
    return {
        (path.relative_to(home).as_posix(), *found)
        for home, folder in ((ROOT, ROOT), (INPUTS.parent, INPUTS)) for path in sorted(folder.rglob("*.py"))
        for found in below(ast.parse(path.read_text(encoding="utf-8")), seen)
    }  # fmt: skip


def test_every_handler_is_listed_with_what_a_failure_becomes() -> None:
    assert in_verification(handled) == HANDLERS.keys()


# What reads a text to decide, and why that text is a name and no sentence.
READS_OF_TEXTS = {
    ("devices.py", "note_devices", "removesuffix"): "a provider's name",
    ("inputs/files.py", "read_feeds", "removeprefix"): "the name of an array in a file",
    ("pairs/matches.py", "parse_match", "fullmatch"): "what the user states with --match",
    ("running/candidate.py", "OnnxCandidate.label", "removesuffix"): "a provider's name",
}
TEXT_METHODS = {"startswith", "endswith", "removeprefix", "removesuffix", "match", "search", "fullmatch", "findall"}


def test_no_sentence_decides_a_verdict() -> None:
    assert in_verification(text_method) == READS_OF_TEXTS.keys()
