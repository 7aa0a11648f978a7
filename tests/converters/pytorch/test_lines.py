"""Drawn statements as lines: `ruff format` leaves them as they are."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from graphir.converters.pytorch.exporting.expression import Expr, binary
from graphir.converters.pytorch.exporting.layout import lines_of

STATEMENTS = 400
TARGETS = ("x = ", "return ", "{0} = ", "{0}, {1} = ", "{0}, ({1}, _) = ")


class Drawing:
    """Expressions with names of any length."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)

    def name(self, longest: int = 28) -> str:
        return self._draw.choice(("x", "y", "rows", "total", "a" * self._draw.randint(1, longest)))

    def arguments(self, depth: int) -> str:
        count = self._draw.randint(1, 4)
        return ", ".join(self.expression(depth - self._draw.randint(1, 2)) for _ in range(count))

    def expression(self, depth: int) -> Expr:
        kind = self._draw.choice(("name", "layer", "layer", "call", "sum", "method", "group")) if depth > 0 else "name"
        if kind == "layer":
            return Expr(f"self.{self.name(60)}({self.arguments(depth)})")
        if kind == "call":
            return Expr(f"torch.where({self.arguments(depth)})")
        if kind == "sum":
            left, right = self.expression(depth - 1), self.expression(depth - 1)
            return binary(self._draw.choice("+-*@/"), left, right)
        if kind == "method":
            method = self._draw.choice(("mean()", "transpose(1, 2)", "flatten(1)"))
            return Expr(f"{self.expression(depth - 1).atom}.{method}")
        if kind == "group":
            return Expr(f"torch.cat(({self.expression(depth - 1)}, {self.expression(depth - 1)}), 1)")
        return Expr(self.name())

    def statement(self) -> str:
        target = self._draw.choice(TARGETS).format(self.name(), self.name())
        return f"{target}{self.expression(self._draw.randint(1, 4))}"


@pytest.mark.parametrize("seed", range(3))
def test_a_formatter_leaves_lines_as_they_are(seed: int, tmp_path: Path) -> None:
    drawing = Drawing(seed)
    lines = [line for _ in range(STATEMENTS) for line in lines_of(drawing.statement(), 1)]
    path = tmp_path / "lines.py"
    path.write_text("\n".join(["def f():", *lines, ""]), encoding="ascii")
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--diff", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
