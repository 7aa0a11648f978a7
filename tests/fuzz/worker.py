"""The child process that runs cases: one after the other, with caps, each in folders of its own."""

from __future__ import annotations

import faulthandler
import os
import resource
import tempfile
import time
import traceback
import warnings
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from graphir.errors import OutOfMemory
from tests.fuzz.case import Case, Model, format_seeds, make_case

QUICK = 1.0  # seconds of CPU that a case may always take
# A case may take as much CPU as this many of `yardstick`, which is 0.1 s on the machine of benchmarks/RESULTS.md: the
# largest models of the attacks are done in up to 25; what grows with the square of their size takes hundreds.
SLOW = 40
HANG = 120.0  # seconds after which the worker is ended
MEMORY = 500 << 20  # bytes beyond what the process had before
CAP = 1 << 30  # bytes beyond that that the system gives at most
OLD = b"what stood here before"


@dataclass(frozen=True)
class Outcome:
    """What became of one case: `finding` is "" or what must not happen, `where` tells like findings from others."""

    number: int
    finding: str = ""
    where: str = ""
    text: str = ""
    seconds: float = 0.0
    memory: int = 0
    converted: bool = False
    refusal: str = ""


Order = tuple[str, int, int] | Case


def serve(connection: Connection, dump: str) -> None:
    """Run what comes in until None comes: format, seed and number, or a case. `dump` receives the stack of a hang."""
    import graphir
    from tests.fuzz.formats import FORMATS

    warm_up()
    soft = _status("VmData") + CAP
    resource.setrlimit(resource.RLIMIT_DATA, (soft, soft))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    assert graphir.__file__ is not None
    with open(dump, "w") as stacks, tempfile.TemporaryDirectory(prefix="graphir-fuzz-") as folder:
        while (order := connection.recv()) is not None:
            if isinstance(order, tuple):
                format_seeds(FORMATS[order[0]])
            faulthandler.dump_traceback_later(HANG - 2, file=stacks)
            outcome = _run(order, Path(folder, "case"))
            faulthandler.cancel_dump_traceback_later()
            connection.send(outcome)


def _run(order: Order, folder: Path) -> Outcome:
    if isinstance(order, Case):
        return run_case(order, 0, folder)
    from tests.fuzz.formats import FORMATS

    name, seed, number = order
    try:
        case = make_case(FORMATS[name], seed, number)
    except Exception as error:  # whatever a mutator has wrong is no finding about graphir, but must be seen
        return Outcome(number, "mutator", _place(error), "".join(traceback.format_exception(error)))
    return run_case(case, number, folder)


def warm_up() -> None:
    """Import what a conversion imports, so that no case is charged for it."""
    import graphir.converters.mxnet.exporting.exporter
    import graphir.converters.mxnet.source
    import graphir.converters.onnx.importing.importer
    import graphir.runtime.session  # noqa: F401
    from graphir.converters.mxnet.schema.registry import canonical_names

    canonical_names()


def run_case(case: Case, number: int, folder: Path) -> Outcome:
    """Convert the case's model over an existing target and look at what happened to the files."""
    import graphir

    source, result = folder / "source", folder / "result"
    write_model(case.model, source)
    result.mkdir()
    target = result / case.target
    target.write_bytes(OLD)
    before = set(source.rglob("*"))
    finding, where, text, converted, refusal = "", "", "", False, ""
    _reset_peak()
    held, started = _status("VmRSS"), time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # numpy warns of what its next release refuses, and of numbers that are lost
            graphir.convert(source / case.model.entry, target, **case.model.options)
        converted = True
    except graphir.GraphirError as error:
        refusal = type(error).__name__
        text = str(error)
        if isinstance(error, OutOfMemory):  # which on a larger machine takes what there is
            finding, where = "memory", f"{refusal} at {_place(error)}"
        if not text.strip():
            finding, where = "crash", f"a {refusal} that says nothing"
    except BaseException as error:
        finding, where, text = "crash", _place(error), "".join(traceback.format_exception(error))
    seconds, memory = time.process_time() - started, _status("VmHWM") - held
    finding, where = (finding, where) if finding else _judged(seconds, memory, text)
    if not finding:
        finding, where = _damage(case, converted, before, source, result)
    _remove(folder)
    return Outcome(
        number,
        finding,
        where,
        text if len(text) < 8000 else text[:2000] + " ... " + text[-6000:],
        seconds,
        memory,
        converted,
        refusal,
    )


def write_model(model: Model, folder: Path) -> None:
    """The files of a model in a new folder."""
    folder.mkdir(parents=True)
    for name, content in model.files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


def _judged(seconds: float, memory: int, text: str) -> tuple[str, str]:
    if seconds > QUICK and seconds > SLOW * yardstick():
        return "slow", f"more than {SLOW} yardsticks of CPU: {text[:80]}"
    if memory > MEMORY:
        return "memory", f"more than {MEMORY >> 20} MB: {text[:80]}"
    return "", ""


def yardstick() -> float:
    """Return the seconds of CPU that a fixed piece of Python's work takes here and now."""
    started = time.process_time()
    numbers: dict[str, list[int]] = {}
    for number in range(200_000):
        numbers.setdefault(f"node_{number % 1000}", []).append(number)
    return time.process_time() - started


def _damage(case: Case, converted: bool, before: set[Path], source: Path, result: Path) -> tuple[str, str]:
    """What the conversion did to files that it should not have done."""
    for name, content in case.model.files.items():
        if not (source / name).is_file() or (source / name).read_bytes() != content:
            return "destroyed", f"the source's {name} was changed"
    if set(source.rglob("*")) != before:
        return "left", f"in the source's folder: {sorted(set(source.rglob('*')) - before)}"
    target = result / case.target
    if not target.is_file():
        return "destroyed", "the target is gone"
    if not converted and target.read_bytes() != OLD:
        return "destroyed", "the conversion failed, but its target is another"
    if converted and target.read_bytes() == OLD:
        return "destroyed", "the conversion succeeded, but its target is the old one"
    stem = case.target.removesuffix("-symbol.json").partition(".")[0]
    others = [file.name for file in result.iterdir() if file != target]
    odd = [name for name in others if not converted or name.startswith(".") or not name.startswith(stem)]
    return ("left", f"beside the target: {odd}") if odd else ("", "")


def _place(error: BaseException) -> str:
    """The exception's kind and the innermost lines of graphir that it came through."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/tests/" not in frame.filename]
    own = [frame for frame in frames if "/graphir/" in frame.filename or "/converters/" in frame.filename] or frames
    lines = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(own[-2:]))
    return f"{type(error).__name__} at {lines}"


def _status(key: str) -> int:
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith(key + ":"))
    return int(line.split()[1]) << 10


def _reset_peak() -> None:
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def _remove(folder: Path) -> None:
    for place in sorted(folder.rglob("*"), reverse=True):
        place.rmdir() if place.is_dir() and not place.is_symlink() else place.unlink()
    os.rmdir(folder)


__all__ = ["HANG", "Order", "Outcome", "run_case", "serve", "write_model"]
