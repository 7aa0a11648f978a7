"""python -m tests.verification.reworded FOLDER: compare pairs of files with every sentence of verification reworded.

Prints, as JSON, what `outcome` says of each pair FOLDER/NAME-first.onnx and FOLDER/NAME-second.onnx.
"""

from __future__ import annotations

import ast
import importlib.abc
import json
import re
import sys
import types
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from typing import Any

PREFIXES = ("graphir.verification", "graphir.analysis.diff", "graphir.converters.onnx.probes")
# Two words with a blank between them: no name, no dtype, no separator.
SENTENCE = re.compile(r"[A-Za-z,]+ [A-Za-z]")


class Reworder(ast.NodeTransformer):
    """Every sentence with other words at both of its ends; docstrings stay."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr:
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if isinstance(node.value, str) and SENTENCE.search(node.value):
            return ast.copy_location(ast.Constant(f"reworded {node.value} so"), node)
        return node


class Loader(SourceFileLoader):
    """Compiles a module anew, with its sentences reworded."""

    def path_stats(self, path: str) -> Any:
        raise OSError("no cached bytecode")

    def source_to_code(  # type: ignore[override]
        self, data: Any, path: Any, *, _optimize: int = -1
    ) -> types.CodeType:
        tree = ast.fix_missing_locations(Reworder().visit(ast.parse(data)))
        code: types.CodeType = compile(tree, path, "exec", dont_inherit=True)
        return code


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path) if fullname.startswith(PREFIXES) else None
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec


def outcome(first: Path, second: Path) -> dict[str, Any]:
    """What a comparison decides: verdicts and counts, and, apart from these, what it `said`."""
    import graphir

    report = graphir.verify(first, second)
    return {
        "verdict": report.verdict.name,
        "outputs": [[one.verdict.name, one.is_random, one.is_faint] for one in report.outputs],
        "causes": [cause.name for cause in report.causes],
        "counts": [len(lines) for lines in (report.unproven, report.notes, report.changes, report.coverage)],
        "rewritten": sorted(report.rewritten),
        "said": " ".join([*report.unproven, *report.notes]),
    }


def outcomes(folder: Path) -> dict[str, dict[str, Any]]:
    """The outcome of each pair of a folder."""
    return {
        path.name.removesuffix("-first.onnx"): outcome(path, Path(str(path).replace("-first.", "-second.")))
        for path in sorted(folder.glob("*-first.onnx"))
    }


if __name__ == "__main__":
    sys.meta_path.insert(0, Finder())
    print(json.dumps(outcomes(Path(sys.argv[1]))))
