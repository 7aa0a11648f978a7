"""Faults and rewrites planted one by one, and what `graphir.verify` says of each."""

from __future__ import annotations

import math
import re
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import onnx

import graphir
from graphir.errors import GraphirError
from graphir.verification.report import VerificationReport
from graphir.verification.verdict import Verdict

from .builder import Feeds, Generator, Network
from .disguise import disguised, optimised
from .effect import Effect, Judged, differs_at, effect_of, judged
from .harmless import ITSELF, Rewrite
from .kinds import Edit, Fault
from .known import GAPS
from .model import Model

PLACES = 6
"""How many places are tried for one with an effect that shows in some inputs."""
ERROR = "error"
BEHIND_THE_OPTIMISER = 3
"""Which of four faults are behind onnxruntime's offline optimiser, and renamed; one of the others is renamed."""
LINES = 8
"""A list of changes that is longer names nothing any more."""


@dataclass(frozen=True)
class Planted:
    """A fault in a network: where, the model that has it, its effect. `names` are those that name it exactly, in
    the network or in the model that has it, `group` those of the nodes around."""

    network: str
    kind: str
    seed: int
    where: tuple[str, ...]
    proto: onnx.ModelProto
    effect: Effect
    names: frozenset[str]
    group: frozenset[str]
    random: bool = False
    silent: bool = False


@dataclass(frozen=True)
class Finding:
    """What verify says of a planted fault: its verdict in a word (or `error`), and whether it names the place."""

    planted: Planted
    verdict: str
    found: bool
    named: bool
    said: str

    @property
    def counts(self) -> bool:
        """Whether the fault has to be found."""
        return self.planted.effect.is_clear or self.planted.random or self.planted.silent

    @property
    def missed(self) -> bool:
        """Whether it has to be found and is not."""
        return self.counts and not self.found

    @property
    def unnamed(self) -> bool:
        """Whether it was found and is not named. What is drawn in every run has no place that numbers show."""
        return self.counts and self.found and not self.named

    @property
    def place(self) -> tuple[str, str]:
        """The network and the kind."""
        return self.planted.network, self.planted.kind

    @property
    def is_known(self) -> bool:
        """Whether it is among the known gaps."""
        return self.place in GAPS

    @property
    def command(self) -> str:
        """What repeats this one alone."""
        planted = self.planted
        return f"python -m tests.faults --network {planted.network} --kind '{planted.kind}' --seed {planted.seed}"


def generator_of(*texts: object) -> Generator:
    """A generator of its own for each network, kind and seed, the same in every process."""
    return np.random.Generator(np.random.PCG64(zlib.crc32("/".join(map(str, texts)).encode())))


def plant(network: Network, fault: Fault, seed: int) -> Planted | None:
    """The fault at a place drawn from the seed, one with an effect where there is one; None where it does not apply.

    Candidates that onnxruntime does not load, or runs on no inputs, are no faults that anyone could miss, and are
    passed over.
    """
    base = judged(network, seed)
    edits = list(fault.sites(base.model))
    generator = generator_of(network.name, fault.name, seed)
    best: Planted | None = None
    for index in generator.permutation(len(edits))[:PLACES]:
        made = _planted(base, fault, edits[index], generator, seed)
        if made is not None and (best is None or made.effect.sets > best.effect.sets):
            best = made
        if best is not None and best.effect.is_clear:
            break
    return best


def _planted(base: Judged, fault: Fault, edit: Edit, generator: Generator, seed: int) -> Planted | None:
    model = base.model.clone()
    edit.apply(model, generator)
    try:
        effect = effect_of(base, model.proto)
    except Exception:  # what onnxruntime raises for models that it does not load has no common base but this
        return None
    if effect.fails and effect.runs == 0:
        return None
    if math.isinf(effect.change):
        model.shapes_forgotten()
    exact, around = names_of(base.model, edit.where)
    silent = bool(fault.silent) and differs_at(base, model.proto, fault.silent)
    known = {node.name for node in base.model.nodes()} - set(edit.where)
    planted = {node.name for node in model.nodes() if node.name not in known}
    turn = zlib.crc32(f"{fault.name}/{base.network.name}/{seed}".encode()) % 4
    if turn == BEHIND_THE_OPTIMISER:
        model.proto = optimised(model.proto)
    places = [place for place, node in enumerate(model.nodes()) if node.name in planted]
    if turn % 2:
        model.proto = disguised(model.proto)
    own = {name for place in places for name in (model.nodes()[place].name, *model.nodes()[place].output)}
    return Planted(
        base.network.name, fault.name, seed, edit.where, model.proto, effect, exact | own, around, fault.random, silent
    )


def names_of(model: Model, where: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """The names that mean these nodes (their own, their results', their weights'), and those of their neighbours."""
    weights, exact, around = set(model.weights()), set(), set()
    for name in where:
        node = model.node(name)
        exact |= {node.name, *node.output, *(value for value in node.input if value in weights)}
        for value in node.input:
            maker = model.producer(value)
            around |= {maker.name, *maker.output} if maker is not None else {value}
        for value in node.output:
            for user, _ in model.users(value):
                around |= {user.name, *user.output}
    return frozenset(exact - {""}), frozenset(around - {""})


def hold(base: Judged, planted: Planted, seed: int = 0) -> Finding:
    """What verify says of the fault, by its defaults but for the seed of its inputs, of two files."""
    with tempfile.TemporaryDirectory(prefix="graphir-faults-") as folder:
        left, right = Path(folder) / "source.onnx", Path(folder) / "planted.onnx"
        onnx.save(base.model.proto, left)
        onnx.save(planted.proto, right)
        try:
            report = graphir.verify(left, right, seed=seed)
        except GraphirError as error:
            text = f"{type(error).__name__}: {error}"
            found = self_verdict(base) != ERROR
            return Finding(planted, ERROR, found, names(text, planted), text.splitlines()[0])
    said = any(names(sentence, planted) for sentence in report.unproven)
    found = not report.ok if planted.random else report.verdict.differs or said
    texts = list(said_of(report))
    return Finding(planted, report.verdict.value, found, any(names(text, planted) for text in texts), "; ".join(texts))


@dataclass(frozen=True)
class Acquittal:
    """What verify says of a rewrite that changes nothing: its verdict in a word (or `error`) and its causes;
    `itself` is its verdict on the network itself, which no rewrite can better. `effect` says whether the rewrite really
    changes nothing."""

    network: str
    kind: str
    seed: int
    verdict: str
    said: str
    effect: Effect
    itself: str = Verdict.IDENTICAL.value

    @property
    def harms(self) -> bool:
        """Whether it does change something: then it stands in the wrong list, and no verdict on it says anything."""
        return self.effect.is_clear

    @property
    def blamed(self) -> bool:
        """Whether the rewrite, which is right, is called worse than the network itself, or that not right."""
        if self.harms:
            return False
        good = (Verdict.IDENTICAL.value, Verdict.NOISE.value)
        return self.verdict not in (good if self.kind == ITSELF or self.itself in good else (*good, self.itself))

    @property
    def place(self) -> tuple[str, str]:
        """The network and the kind."""
        return self.network, self.kind

    @property
    def is_known(self) -> bool:
        """Whether it is among the known gaps."""
        return self.place in GAPS

    @property
    def command(self) -> str:
        """What repeats this one alone."""
        return f"python -m tests.faults --network {self.network} --kind '{self.kind}' --seed {self.seed}"


def acquit(network: Network, rewrite: Rewrite, seed: int) -> Acquittal | None:
    """What verify says of the rewritten network; None where the rewrite does not apply."""
    base = judged(network, seed)
    model = base.model.clone()
    if not rewrite.apply(model, generator_of(network.name, rewrite.name, seed)):
        return None
    effect = effect_of(base, model.proto)
    verdict, said = _verdict(base, model.proto)
    return Acquittal(network.name, rewrite.name, seed, verdict, said, effect, self_verdict(base))


@lru_cache
def self_verdict(base: Judged) -> str:
    """The verdict on the network itself: an error there says nothing of a fault."""
    return _verdict(base, base.model.proto)[0]


def _verdict(base: Judged, proto: onnx.ModelProto) -> tuple[str, str]:
    with tempfile.TemporaryDirectory(prefix="graphir-faults-") as folder:
        left, right = Path(folder) / "source.onnx", Path(folder) / "rewritten.onnx"
        onnx.save(base.model.proto, left)
        onnx.save(proto, right)
        try:
            report = graphir.verify(left, right)
        except GraphirError as error:
            return ERROR, str(error).splitlines()[0]
    worst = [f"{found.name} {found.verdict.value} {found.note}" for found in report.outputs if not found.verdict.passes]
    causes = [f"cause {cause.name}: {cause.what}" for cause in report.causes]
    return report.verdict.value, "; ".join([*worst, *report.unproven, *causes])


def own_inputs_miss(base: Judged, planted: Planted) -> bool:
    """Whether a fault that verify did not find by its own inputs is found with those that show the effect here."""
    with tempfile.TemporaryDirectory(prefix="graphir-faults-") as folder:
        left, right = Path(folder) / "source.onnx", Path(folder) / "planted.onnx"
        onnx.save(base.model.proto, left)
        onnx.save(planted.proto, right)
        return any(_differs(left, right, fed) for fed in base.feeds)


def _differs(left: Path, right: Path, feeds: Feeds) -> bool:
    try:
        return graphir.verify(left, right, feeds=feeds).verdict.differs
    except GraphirError:
        return True


def said_of(report: VerificationReport) -> Iterator[str]:
    """All by which a report can name a place."""
    for cause in report.causes:
        yield f"{cause.name}: {cause.what}"
    if report.first_divergence is not None:
        yield report.first_divergence.name
    yield from report.unproven
    if len(report.changes) <= LINES:
        yield from report.changes


def names(text: str, planted: Planted) -> bool:
    """Whether the words of a text name the place of a fault or its group."""
    words = set(re.findall(r"[\w./]+", text))
    return bool(words & (planted.names | planted.group))


__all__ = [
    "ERROR", "Acquittal", "Finding", "Planted", "acquit", "generator_of", "hold", "names_of", "own_inputs_miss",
    "plant", "said_of", "self_verdict",
]  # fmt: skip
