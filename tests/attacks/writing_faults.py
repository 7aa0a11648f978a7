"""Run as a program: disturb conversions while they write, and say what was found that must not be.

    python -m tests.attacks.writing_faults KIND SEED [COUNT]

KIND is what is written: `inline` and `external` (ONNX), `mxnet`, `graphir`. Two models that differ in their weights
alone are converted in turns to one target, each conversion in a process of its own that is forked here, where all that
it imports is there. What happens to it: a signal at a random moment (`term`, `hup`, `kill`), or while weights are
written; both at once (`two`); no file may grow beyond a random size (`full`); a folder that cannot be written to, as
another user where this one is root (`locked`); the source is cut short, rewritten or replaced at a random moment
(`source`); COUNT times each, without it a few times. Standard output gets a line of JSON: how the runs ended, and the
findings.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import IO

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper

from graphir.cli import main as graphir_main
from graphir.files.regions import SourceFiles
from graphir.tensor import Tensor
from tests.building import make_model, save_model

TARGETS = {
    "inline": ("m.onnx",),
    "external": ("m.onnx", "m.onnx.data"),
    "mxnet": ("m-symbol.json", "m-0000.params"),
    "graphir": ("m.graphir.json", "m.graphir.safetensors"),
}
OPTIONS = {"external": ("--weights", "external"), "inline": ("--weights", "inline")}
LAYERS, WIDTH = 6, 384
NOBODY = 65534


def write_source(path: Path, seed: int) -> None:
    """A chain of matrix products, 3.5 MB."""
    generator = np.random.Generator(np.random.PCG64(seed))
    weights = [generator.standard_normal((WIDTH, WIDTH), np.float32) for _ in range(LAYERS)]
    nodes = [
        onnx.helper.make_node("MatMul", [f"x{index}", f"w{index}"], [f"x{index + 1}"], name=f"n{index}")
        for index in range(LAYERS)
    ]
    arrays = {f"w{index}": weight for index, weight in enumerate(weights)}
    save_model(path, make_model(nodes, {"x0": [1, WIDTH]}, {f"x{LAYERS}": [1, WIDTH]}, arrays))


class Scene:
    """A folder with two sources and a target."""

    def __init__(self, kind: str, folder: Path, seed: int) -> None:
        self.kind = kind
        self.folder = folder
        self.random = random.Random(seed)
        self.sources = [folder / "a" / "a.onnx", folder / "b" / "b.onnx"]
        self.out = folder / "out"
        self.out.mkdir()
        self.findings: list[str] = []
        self.ends: Counter[str] = Counter()
        self.states = []
        for index, source in enumerate(self.sources):
            source.parent.mkdir()
            write_source(source, index)
        # Here, not in a child: what a conversion imports is then imported for all of them.
        graphir_main(["convert", str(self.sources[0]), str(self.target), "-q", *OPTIONS.get(kind, ())])
        self.pristine = [source.read_bytes() for source in self.sources]
        for source in self.sources:
            started = time.perf_counter()
            self.expect(self.wait(self.convert(source)), {"0"}, "undisturbed")
            self.seconds = time.perf_counter() - started
            self.states.append(self.state())

    @property
    def target(self) -> Path:
        return self.out / TARGETS[self.kind][0]

    def convert(self, source: Path, prepare: object = None) -> int:
        """Begin a conversion; its process."""
        child = os.fork()
        if child:
            return child
        code = 99
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(os.open(self.folder / "stderr", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666), 2)
            if callable(prepare):
                prepare()
            code = graphir_main(["convert", str(source), str(self.target), "-q", *OPTIONS.get(self.kind, ())])
        finally:
            os._exit(code)

    def wait(self, child: int) -> str:
        """How a process ended: its exit code, or the signal's name."""
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        end = str(code) if code >= 0 else signal.Signals(-code).name
        self.ends[end] += 1
        return end

    def expect(self, end: str, allowed: set[str], what: str) -> None:
        if end not in allowed:
            self.findings.append(f"{what}: ended with {end}: {(self.folder / 'stderr').read_text()[-300:]}")

    def state(self) -> tuple[bytes, bytes | None]:
        """What a reader finds: the description, which may name its weights, and the weights, None if it finds none."""
        description = self.target.read_bytes()
        if self.kind == "inline":
            return description, b""
        name = TARGETS[self.kind][1]
        if self.kind == "graphir":
            stated = json.loads(description)["weights"]
        elif self.kind == "external":
            model = onnx.load(self.target, load_external_data=False)
            stated = next(entry.value for entry in model.graph.initializer[0].external_data if entry.key == "location")
            for tensor in model.graph.initializer:
                tensor.external_data[0].value = name
            description = model.SerializeToString()
        else:
            stated = name
        if self.kind == "graphir":
            description = description.replace(stated.encode(), name.encode())
        place = self.out / stated
        return description, place.read_bytes() if place.exists() else None

    def check(self, what: str, *, may_lack_weights: bool = False) -> int | None:
        """Note a finding unless the state is one of the two; which it is."""
        found = self.state()
        if found in self.states:
            return self.states.index(found)
        descriptions = [description for description, _ in self.states]
        if not (may_lack_weights and found[1] is None and found[0] in descriptions):
            self.findings.append(f"{what}: neither the old nor the new: {[len(part or b'') for part in found]} bytes")
        return None

    def check_folder(self, what: str) -> None:
        """Note a finding where other files than the target's are left."""
        names = sorted(path.name for path in self.out.iterdir())
        if names != sorted(TARGETS[self.kind]):
            self.findings.append(f"{what}: left behind: {names}")


def by_signal(scene: Scene, number: int, turn: int) -> None:
    """End a conversion at a random moment."""
    child = scene.convert(scene.sources[turn % 2])
    time.sleep(scene.random.uniform(0, 1.2 * scene.seconds) if turn else 0)  # once it has surely not ended
    os.kill(child, number)
    end = scene.wait(child)
    name = signal.Signals(number).name  # that ends a process which has not begun, or has ended, its conversion
    what = f"run {turn}, {name}"
    scene.expect(end, {"0", name, str(128 + number)}, what)
    scene.check(what, may_lack_weights=number == signal.SIGKILL and scene.kind == "mxnet")
    if number != signal.SIGKILL:
        scene.check_folder(what)


def in_the_middle(scene: Scene, number: int, turn: int) -> None:
    """A signal that comes while the weights are written."""

    def prepare() -> None:
        write = Tensor.write_to

        def interrupted(tensor: Tensor, file: IO[bytes], sources: SourceFiles | None = None) -> int:
            os.kill(os.getpid(), number)
            return write(tensor, file, sources)

        type.__setattr__(Tensor, "write_to", interrupted)

    before = scene.state()
    scene.expect(scene.wait(scene.convert(scene.sources[turn % 2], prepare)), {str(128 + number)}, "in the middle")
    if scene.state() != before:
        scene.findings.append("in the middle: the target was changed")
    scene.check_folder("in the middle")


def two_at_once(scene: Scene, number: int, turn: int) -> None:
    """Both models at once."""
    children = [scene.convert(source) for source in scene.sources]
    for child in children:
        scene.expect(scene.wait(child), {"0"}, f"run {turn}")
    scene.check(f"run {turn}")
    scene.check_folder(f"run {turn}")


def full_disk(scene: Scene, number: int, turn: int) -> None:
    """No file may grow beyond a size somewhere below that of the weights."""
    limit = 0 if turn == 0 else scene.random.randrange(4 * WIDTH * WIDTH * LAYERS)

    def prepare() -> None:
        os.dup2(1, 2)  # standard error is a file too
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    before = scene.state()
    scene.expect(scene.wait(scene.convert(scene.sources[turn % 2], prepare)), {"1"}, f"at most {limit} bytes")
    if scene.state() != before:
        scene.findings.append(f"at most {limit} bytes: the target was changed")
    scene.check_folder(f"at most {limit} bytes")


def locked_folder(scene: Scene, number: int, turn: int) -> None:
    """A folder without permission to write, as another user where this one is root."""

    def prepare() -> None:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)

    scene.out.chmod(0o555)
    before = scene.state()
    scene.expect(scene.wait(scene.convert(scene.sources[turn % 2], prepare)), {"1"}, "locked folder")
    scene.out.chmod(0o755)
    if scene.state() != before:
        scene.findings.append("locked folder: the target was changed")
    scene.check_folder("locked folder")


def changing_source(scene: Scene, number: int, turn: int) -> None:
    """The source is changed at a random moment. A process that has it mapped may end by SIGBUS."""
    source, other = scene.sources[turn % 2], scene.pristine[1 - turn % 2]
    child = scene.convert(source)
    time.sleep(scene.random.uniform(0, scene.seconds))
    way = scene.random.choice(["cut", "rewrite", "replace"])
    if way == "cut":
        os.truncate(source, scene.random.randrange(len(other)))
    elif way == "rewrite":
        with open(source, "r+b") as file:
            file.write(other)
    else:
        source.with_name("new").write_bytes(other)
        os.replace(source.with_name("new"), source)
    end = scene.wait(child)
    scene.expect(end, {"0", "1", "SIGBUS"} if way == "cut" else {"0", "1"}, f"run {turn}, {way}")
    scene.check(f"run {turn}, {way}, ended with {end}")
    if end != "SIGBUS":
        scene.check_folder(f"run {turn}, {way}")
    source.write_bytes(scene.pristine[turn % 2])


# How each is done, with which signal, and how many times unless that is said.
DISTURBANCES = {
    "interrupted": (in_the_middle, signal.SIGINT, 1),
    "terminated": (in_the_middle, signal.SIGTERM, 1),
    "hung up": (in_the_middle, signal.SIGHUP, 1),
    "term": (by_signal, signal.SIGTERM, 4),
    "hup": (by_signal, signal.SIGHUP, 1),
    "kill": (by_signal, signal.SIGKILL, 10),
    "two": (two_at_once, 0, 3),
    "full": (full_disk, 0, 3),
    "locked": (locked_folder, 0, 1),
    "source": (changing_source, 0, 5),
}


def main(kind: str, seed: str, count: str = "") -> None:
    """Disturb, print what was found, and clean up."""
    for number in (signal.SIGTERM, signal.SIGHUP):  # what runs in the background, or under nohup, inherits them ignored
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="graphir-faults-"))
    folder.chmod(0o755)
    try:
        scene = Scene(kind, folder, int(seed))
        for disturb, interrupt, times in DISTURBANCES.values():
            for turn in range(int(count or times)):
                disturb(scene, interrupt, turn)
        scene.expect(scene.wait(scene.convert(scene.sources[0])), {"0"}, "the run after all")
        scene.check_folder("the run after all")
        if scene.check("the run after all") != 0:
            scene.findings.append("the run after all: not what it wrote")
        print(json.dumps({"ends": scene.ends, "findings": scene.findings}))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
