"""What the commands show on a terminal: colours, tables that fit, progress; and in a pipe: none of it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import graphir as package
from graphir.cli.console import ProgressLine
from graphir.graph import Graph
from graphir.ops.activation import Relu
from graphir.ops.linear import Gemm
from graphir.safety.counted import Count
from graphir.structure.look import Look, Style, harmless, look_of, paint, shown_as
from graphir.tensor import Tensor
from graphir.types import DType, TensorType, symbol

from .conftest import Command, bare

ROOT = Path(__file__).parents[2]
SHAPE = ("-i", "data:1,1,8,8")
COMMANDS = [
    ("summary",), ("cost",), ("layers",), ("shapes",), ("padding",), ("check",), ("params",), ("memory", *SHAPE),
]  # fmt: skip
LAYERS = 12


def stacked(path: Path, seed: int, *, prefix: str = "layer") -> Path:
    """A model of some layers with weights drawn from a seed, written to a file."""
    generator = np.random.default_rng(seed)
    graph = Graph("stacked")
    value = graph.add_input("data", TensorType(DType.FLOAT32, (symbol("N"), 8)))
    for number in range(LAYERS):
        weight = graph.add_parameter(f"w{number}", Tensor.of(generator.normal(size=(8, 8)).astype(np.float32)))
        bias = graph.add_parameter(f"b{number}", Tensor.of(generator.normal(size=8).astype(np.float32)))
        value = graph.add(Gemm(transB=True), value, weight, bias, name=f"{prefix}{number}")
        value = graph.add(Relu(), value, name=f"{prefix}{number}_relu")
    graph.set_outputs([value])
    package.save(graph, path)
    return path


@pytest.mark.parametrize("columns", [40, 80, 300])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_tables_fit(terminal: Command, digits: Path, command: tuple[str, ...], columns: int) -> None:
    found = terminal(columns, command[0], digits, *command[1:])
    assert found.code == 0
    rows = bare(found.out).split("\n\n", 1)[1].splitlines()
    assert max(map(len, rows)) <= columns
    assert "\x1b[1m" in found.out


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_a_verification_fits(terminal: Command, digits: Path, tmp_path: Path, columns: int) -> None:
    found = terminal(columns, "convert", digits, tmp_path / "m.onnx", *SHAPE, "--verify", "--against", "reference")
    assert found.code == 0, found.out
    assert "\x1b[32mverified:\x1b[0m" in found.out
    rows = bare(found.out).partition("inputs ")[2].splitlines()
    assert max(map(len, rows)) <= columns


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_pipe_gets_whole_rows_and_no_colour(
    graphir: Command, digits: Path, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    narrow = graphir(command[0], digits, *command[1:]).out
    monkeypatch.setenv("COLUMNS", "200")
    assert narrow == graphir(command[0], digits, *command[1:]).out
    assert "\x1b" not in narrow
    assert narrow.isascii()


@pytest.mark.parametrize(
    "is_terminal, environ, colour, width",
    [
        (True, {}, True, 70), (False, {}, False, None),
        (True, {"NO_COLOR": "1"}, False, 70), (True, {"NO_COLOR": ""}, True, 70),
        (False, {"FORCE_COLOR": "1"}, True, None), (False, {"FORCE_COLOR": "0"}, False, None),
        (True, {"FORCE_COLOR": "0"}, False, 70), (False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, None),
        (True, {"TERM": "dumb"}, False, 70), (True, {"TERM": "dumb", "FORCE_COLOR": "1"}, True, 70),
        (True, {"COLUMNS": "50"}, True, 50), (False, {"COLUMNS": "50"}, False, None),
        (True, {"COLUMNS": "x"}, True, 70),
    ],
)  # fmt: skip
def test_what_a_stream_can_show(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool, environ: dict[str, str], colour: bool, width: int | None
) -> None:
    class Stream:
        def isatty(self) -> bool:
            return is_terminal

        def fileno(self) -> int:
            return 1

    monkeypatch.setattr("os.get_terminal_size", lambda place: type("Size", (), {"columns": 70}))
    found = look_of(Stream(), environ=environ)  # type: ignore[arg-type]
    assert (found.colour, found.width) == (colour, width)


def test_colours_can_be_asked_for_and_refused(graphir: Command, terminal: Command, digits: Path,
                                              monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    assert "\x1b[" not in re.sub(r"\x1b\[K", "", terminal(80, "summary", digits, NO_COLOR="1").out)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    piped = graphir("summary", digits).out
    assert piped.count("\x1b[1m") == 5
    monkeypatch.delenv("FORCE_COLOR")
    assert bare(piped) == graphir("summary", digits).out


def test_foreign_text_acts_on_no_terminal(terminal: Command, tmp_path: Path) -> None:
    place = stacked(tmp_path / "m.graphir.json", 0, prefix="\x1b[2J\x1b]0;x\x07\x1b[8m")
    for command in ("summary", "shapes", "layers", "cost"):
        out = terminal(300, command, place).out
        assert not re.sub(r"\x1b\[[0-9;]*m|\r\x1b\[K", "", out).count("\x1b")
        assert "\x1b[8m" not in out


def test_only_our_colours_pass() -> None:
    with shown_as(Look(80, True)):
        text = paint("good", Style.GOOD) + " \x1b[5mblinks\x1b[2J"
    assert harmless(text, has_colours=True) == "\x1b[32mgood\x1b[0m \\x1b[5mblinks\\x1b[2J"
    assert "\x1b" not in harmless(text, has_colours=False)


def test_verbose_shortens_nothing(terminal: Command, tmp_path: Path) -> None:
    name = "a_name_that_is_far_too_long_for_a_column_of_a_table_in_a_narrow_terminal_"
    place = stacked(tmp_path / "m.graphir.json", 0, prefix=name)
    assert f"{name}3" not in re.sub(r"\s", "", bare(terminal(80, "summary", place).out))
    whole = bare(terminal(80, "summary", place, "-v").out)
    assert max(map(len, whole.splitlines())) <= 80
    lines = whole.split("\n\n")[1].splitlines()
    end = lines[0].index("operator")
    assert f"{name}3" in "".join(line[:end].strip() for line in lines)


def test_a_retrained_model_is_a_line(graphir: Command, tmp_path: Path) -> None:
    first, second = (stacked(tmp_path / f"{seed}.graphir.json", seed) for seed in range(2))
    found = graphir("diff", first, second)
    assert found.code == 4
    assert len(found.out.splitlines()) <= 7
    assert f"weight: all {2 * LAYERS} weights differ: layer0 (Gemm)" in found.out
    assert found.out.rstrip().endswith("(-v shows them one by one)")
    verbose = graphir("diff", first, second, "-v").out
    assert verbose.count("64 of 64 elements differ") == LAYERS


def test_models_of_one_name_are_told_apart(graphir: Command, tmp_path: Path) -> None:
    places = []
    for seed in range(2):
        (tmp_path / f"run{seed}").mkdir()
        places.append(stacked(tmp_path / f"run{seed}" / "model.graphir.json", seed))
    out = graphir("diff", *places).out
    assert "  first   run0/model.graphir.json" in out
    assert "  second  run1/model.graphir.json" in out


def test_errors_are_red_on_a_terminal(terminal: Command) -> None:
    assert "\x1b[1;31mgraphir: error:\x1b[0m" in terminal(80, "summary", "missing.onnx").out
    found = terminal(80, "sumary", "missing.onnx")
    assert (found.code, "there is summary" in found.out) == (2, True)


def test_rich_is_imported_where_a_table_is_drawn(digits: Path) -> None:
    program = (
        "import sys; from graphir.cli import main; main(['summary', sys.argv[1]]); print('rich' in sys.modules)"
    )
    command = [sys.executable, "-c", program, str(digits)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    assert run.stdout.splitlines()[-1] == "False"


def progress(
    *counts: Count, steps: tuple[str, ...] = (), width: int | None = None, text: str = "reading m"
) -> ProgressLine:
    bar = ProgressLine(steps, width)
    bar.stop()
    bar.begin(text)
    for count in counts:
        bar.count(count)
    return bar


def test_progress_says_steps_counts_and_what_is_left() -> None:
    bar = progress(Count("node", 0, 40), Count("node", 10, 40), steps=("reading", "writing"))
    assert bar.line(bar._counting + 5).startswith("step 1 of 2: reading m, node 11 of 40, about 15 s left ... ")
    assert "left" not in bar.line(bar._counting + 0.5)
    bar.count(Count("node", 39, 40))
    bar.begin("building the graph")
    assert bar.line(bar._counting).startswith("step 1 of 2: building the graph ... ")
    bar.begin("writing x")
    assert bar.line(bar._counting).startswith("step 2 of 2: writing x ... ")


def test_what_is_counted_inside_does_not_take_over() -> None:
    bar = progress(Count("model", 2, 9), Count("node", 5, 70))
    assert ", model 3 of 9" in bar.line(bar._counting)
    bar.begin("checking the fourth")
    assert ", model 3 of 9" in bar.line(bar._counting)


@pytest.mark.parametrize("width", [20, 40, 80])
def test_progress_stays_on_its_line(width: int) -> None:
    bar = progress(Count("node", 3, 1000), width=width, text="reading " + "a/long/path/" * 20)
    assert len(bar.line(bar._counting + 100)) < width
