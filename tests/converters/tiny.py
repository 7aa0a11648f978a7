"""A made-up format, as small as one can be: one float32 input, and one unary operator a line.

    tiny 1
    input x 2 3
    relu y
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from graphir.converters.formats import Description, Format, Judge, Manner, PathLike, Ready, Reference, Source
from graphir.converters.options import ModelOptions
from graphir.converters.table import FORMATS
from graphir.errors import FormatError, Gap, UnsupportedOpError
from graphir.graph import Graph
from graphir.ops.activation import Relu
from graphir.ops.elementwise import Neg
from graphir.types import DType, TensorType

if TYPE_CHECKING:
    from graphir.converters.glance import Glance
    from graphir.converters.kernel.live import Live

OPERATORS: dict[str, Any] = {"relu": Relu, "minus": Neg}
MEANINGS: dict[str, Any] = {"relu": lambda x: np.maximum(x, 0), "minus": np.negative}
HEADER = b"tiny 1\n"
TEXT = "tiny 1\ninput x 2 3\nrelu y\nminus z\n"


class TinyReference(Reference):
    """The documented meaning of the format."""

    label = "what tiny means"

    def __init__(self, path: PathLike) -> None:
        (_, self.input, *_), *self.steps = lines(path)
        self.outputs = [self.steps[-1][1]]

    def values(self) -> list[str]:
        """The results of all lines."""
        return [name for _, name in self.steps]

    def stream(self, feeds: Mapping[str, Any], names: Iterable[str]) -> Iterator[tuple[str, Any]]:
        """Those that are wanted."""
        wanted, value = set(names), feeds[self.input]
        for operator, name in self.steps:
            value = MEANINGS[operator](value)
            if name in wanted:
                yield name, value


class TinySource(Source):
    """A file."""

    def judges(self, against: str, live: Live | None = None) -> list[Judge]:
        """What the format means."""
        return [Judge(lambda: TinyReference(self.files[0]))]


class TinyTarget:
    """One file."""

    suffix = ".tiny"
    options: Mapping[str, tuple[type, ...]] = {"shout": (bool,)}
    runs = False

    def named(self, options: Mapping[str, Any]) -> str:
        """`Tiny`."""
        return "Tiny"

    def places(self, path: PathLike) -> list[PathLike]:
        """The file."""
        return [path]

    def ready(self, graph: Graph, path: PathLike, options: Mapping[str, Any]) -> Ready:
        """The text, and how often it has each operator."""
        words = {operator: word for word, operator in OPERATORS.items()}
        strange = [node for node in graph.nodes if type(node.op) not in words]
        if strange:
            gaps = [Gap(node.op.name, "no word for it", (node.name,)) for node in strange]
            raise UnsupportedOpError("not in Tiny", gaps)
        steps = [(words[type(node.op)], node.outputs[0].name) for node in graph.nodes]
        (x,) = graph.inputs
        head = ["tiny 1", f"input {x.name} " + " ".join(map(str, x.shape or ()))]
        text = "\n".join([*head, *(" ".join(step) for step in steps), ""])
        counted = Counter(word for word, _ in steps)

        def write() -> list[Path]:
            Path(path).write_text(text.upper() if options.get("shout") else text)
            return [Path(path)]

        # What the format means is what was written.
        return Ready(counted, write, "1", judges=lambda against, live: [Judge(lambda: TinyReference(path))])


def lines(path: PathLike) -> list[list[str]]:
    """The words of each line behind the header."""
    return [line.split() for line in Path(path).read_text().splitlines()[1:]]


def open_model(path: PathLike, options: ModelOptions, manner: Manner) -> TinySource:
    """A file."""
    (first, name, *shape), *steps = lines(path)
    if first != "input":
        raise FormatError("no input", path=Path(path))
    graph = Graph("tiny")
    value = graph.add_input(name, TensorType(DType.FLOAT32, tuple(map(int, shape))))
    for operator, result in steps:
        value = graph.add(OPERATORS[operator](), value, name=result)
    graph.set_outputs([value])
    described = Description("tiny", Path(path).name, "Tiny", "1", producer="hand")
    return TinySource("tiny", graph, [str(path)], described, Counter(operator for operator, _ in steps))


def recognizes(glance: Glance) -> bool:
    """By the header."""
    return glance.head.startswith(HEADER)


FORMAT = Format(
    name="tiny",
    brand="Tiny",
    title="tiny texts",
    recognizes=recognizes,
    source=open_model,
    target=TinyTarget(),
    suffixes=(".tiny",),
)


def registered(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model of the format, which has a row in the table until the test ends."""
    monkeypatch.setitem(FORMATS, FORMAT.name, FORMAT)
    path.write_text(TEXT)
    return path
