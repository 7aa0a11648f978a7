"""`mx.viz.plot_network`: a symbol as a graph in the DOT language, in MXNet's words and colours."""

from __future__ import annotations

import os
import re
import warnings
import webbrowser
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from graphir.converters.mxnet.mx.symbol import Symbol
from graphir.errors import ExportFailure
from graphir.files.writing import replacing
from graphir.safety.children import find_program, run_program
from graphir.safety.json_text import read_json

_ID = re.compile(r"([a-zA-Z_][a-zA-Z0-9_]*|-?(\.[0-9]+|[0-9]+(\.[0-9]*)?))")
_KEYWORDS = frozenset(("node", "edge", "graph", "digraph", "subgraph", "strict"))
_TEXT_FORMATS = frozenset(("gv", "dot"))
_FORMAT = re.compile(r"[a-z][a-z0-9._:-]*")


class Digraph:
    """The text of a directed graph, line by line in `body`, with what the package graphviz calls it.

    `format` is what `render` makes by default, `engine` the program that lays the graph out.
    """

    def __init__(self, name: str | None = None, format: str = "pdf", engine: str = "dot") -> None:
        if not _FORMAT.fullmatch(format.lower()):
            raise ValueError(f"unknown format: {format!r}")
        self.name = name
        self.format = format.lower()
        self.engine = engine
        self.filename = f"{name or type(self).__name__}.gv"
        self.directory = ""
        self.body: list[str] = []

    @property
    def source(self) -> str:
        """The whole text, without an end of line behind its last brace."""
        head = f"digraph {quote(self.name)} {{" if self.name else "digraph {"
        return "\n".join([head, *self.body, "}"])

    def __str__(self) -> str:
        return self.source

    def node(self, name: str, label: str | None = None, **attrs: str) -> None:
        """Add a node."""
        self.body.append(f"\t{quote(name)}{_attributes(label, attrs)}")

    def edge(self, tail_name: str, head_name: str, label: str | None = None, **attrs: str) -> None:
        """Add an edge from the tail to the head. A colon in a name parts a port from it, as in DOT."""
        self.body.append(f"\t{_edge_end(tail_name)} -> {_edge_end(head_name)}{_attributes(label, attrs)}")

    @property
    def filepath(self) -> str:
        """The path of the file that `save` writes by default."""
        return os.path.join(self.directory, self.filename)

    def save(self, filename: str | None = None, directory: str | None = None) -> str:
        """Write the text and an end of line; the path. Folders are made. Raises ExportFailure."""
        self.filename = self.filename if filename is None else filename
        self.directory = self.directory if directory is None else directory
        folder = os.path.dirname(self.filepath)
        if folder:
            os.makedirs(folder, exist_ok=True)
        with replacing(self.filepath) as (file,):
            file.write(self.source.encode("utf-8", "backslashreplace") + b"\n")
        return self.filepath

    def pipe(self, format: str | None = None) -> bytes:
        """Return the drawn graph. Raises ExportFailure where Graphviz is missing or refuses, and says what does without
        it."""
        wanted = (format or self.format).lower()
        text = self.source.encode("utf-8", "backslashreplace")
        if wanted in _TEXT_FORMATS:
            return text + b"\n"
        if not _FORMAT.fullmatch(wanted):
            raise ValueError(f"unknown format: {format!r}")
        program = find_program(self.engine)
        if program is None:
            raise ExportFailure(
                f"cannot draw {self.name or 'the graph'} as {wanted}: the program {self.engine} of Graphviz is not "
                "installed; .save() writes the DOT text, and `graphir plot MODEL OUT.html` (or .svg, .png) draws a "
                "model without Graphviz"
            )
        done = run_program(program, f"-T{wanted}", input=text, check=False)
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip()
            raise ExportFailure(f"{self.engine} cannot draw {self.name or 'the graph'} as {wanted}: {said}")
        return bytes(done.stdout)

    def render(
        self, filename: str | None = None, directory: str | None = None, view: bool = False, cleanup: bool = False
    ) -> str:
        """Write the text as `save` does and the drawing beside it; the path of the drawing, `plot.gv.pdf`.

        Raises ExportFailure as `pipe` does; the text is written then all the same.
        """
        saved = self.save(filename, directory)
        drawing = self.pipe()
        path = f"{saved}.{self.format.partition(':')[0]}"
        with replacing(path) as (file,):
            file.write(drawing)
        if cleanup:
            os.remove(saved)
        if view:
            webbrowser.open(Path(path).absolute().as_uri())
        return path

    def view(self, filename: str | None = None, directory: str | None = None, cleanup: bool = False) -> str:
        """`render`, and open the drawing."""
        return self.render(filename, directory, view=True, cleanup=cleanup)


def quote(text: str) -> str:
    r"""Return a text as an identifier of DOT, in quotes where it needs them.

    The package graphviz 0.8.4 lets a text in angle brackets pass as markup and a backslash undo the quote behind it.
    Names are a stranger's, so that both are quoted here; all other texts are as there.

    >>> quote("conv1"), quote("3x3/1"), quote("-4.2"), quote("node"), quote("")
    ('conv1', '"3x3/1"', '-4.2', '"node"', '""')
    >>> print(quote('a"b'), quote('a\\"b'), quote("<b>x</b>"), quote("end\\"))
    "a\"b" "a\\\"b" "<b>x</b>" "end\\"
    """
    if _ID.fullmatch(text) and text.lower() not in _KEYWORDS:
        return text
    escaped = re.sub(r'(\\*)(["]|\Z)', _escaped, text)
    return f'"{escaped}"'


def _escaped(match: re.Match[str]) -> str:
    """Backslashes in front of a quote or of the end, doubled, so that they are text; the quote itself escaped."""
    return match[1] * 2 + ('\\"' if match[2] else "")


def _edge_end(text: str) -> str:
    """Return a node's name at the end of an edge: `name`, `name:port` or `name:port:compass`."""
    node, _, rest = text.partition(":")
    port, _, compass = rest.partition(":")
    return ":".join([quote(node), *([quote(port)] if rest else []), *([_compass(compass)] if compass else [])])


def _compass(text: str) -> str:
    """Return a compass point as it is; anything else quoted, so that a name cannot end the statement."""
    return text if re.fullmatch(r"[a-z_]+", text) else quote(text)


def _attributes(label: str | None, attrs: Mapping[str, str]) -> str:
    """Return the list in brackets, the label first and the others in order of their names."""
    shown = [] if label is None else [f"label={quote(label)}"]
    shown += [f"{quote(key)}={quote(attrs[key])}" for key in sorted(attrs)]
    return f" [{' '.join(shown)}]" if shown else ""


Attributes = Mapping[str, str]
_DEFAULTS = {"fixedsize": "true", "height": "0.8034", "shape": "box", "style": "filled", "width": "1.3"}
_HIDDEN = (
    *("_weight", "_bias", "_beta", "_gamma"),
    *("_moving_var", "_moving_mean", "_running_var", "_running_mean"),
)
_VARIABLE_COLOUR, _OTHER_COLOUR = "#8dd3c7", "#fccde5"
_COLOURS = {
    "Convolution": "#fb8072",
    "FullyConnected": "#fb8072",
    "Activation": "#ffffb3",
    "LeakyReLU": "#ffffb3",
    "BatchNorm": "#bebada",
    "Pooling": "#80b1d3",
    "Concat": "#fdb462",
    "Flatten": "#fdb462",
    "Reshape": "#fdb462",
    "Softmax": "#b3de69",
}


def plot_network(
    symbol: Symbol,
    title: str = "plot",
    save_format: str = "pdf",
    shape: Mapping[str, tuple[int, ...]] | None = None,
    dtype: Mapping[str, Any] | None = None,
    node_attrs: Mapping[str, str] = {},
    hide_weights: bool = True,
) -> Digraph:
    """Return a `Digraph` whose `source` is the text that MXNet 1.9.1 makes of the symbol.

    With `shape` (and `dtype`), as for `infer_shape`, every edge says the shape without its first axis (and the dtype).
    `node_attrs` are attributes of DOT for all nodes. `hide_weights` leaves out variables whose names end as those of
    weights do. An operator with several results and no attribute `num_outputs`, at which MXNet raises KeyError, shows
    those of the result that is read. Raises TypeError for what is no symbol and ValueError where shapes or dtypes stay
    open.
    """
    if not isinstance(symbol, Symbol):
        raise TypeError(f"expected a Symbol, found {type(symbol).__name__}")
    edges = _EdgeLabels(symbol, shape, dtype)
    nodes: list[dict[str, Any]] = read_json(symbol.tojson())["nodes"]
    _warn_of_repeated([node["name"] for node in nodes])
    drawn = Digraph(name=title, format=save_format)
    hidden: set[str] = set()
    for node in nodes:
        if node["op"] == "null" and node["name"].endswith(_HIDDEN):
            if hide_weights:
                hidden.add(node["name"])
            continue
        drawn.node(node["name"], label=_label(node), **_DEFAULTS | dict(node_attrs) | _look(node))
    for node in nodes:
        read = node["inputs"][:1] if node["op"] == "_contrib_BilinearResize2D" else node["inputs"]
        for producer, slot, *_ in read:
            source = nodes[producer]
            if source["name"] not in hidden:
                label = edges.of(source, slot)
                drawn.edge(node["name"], source["name"], dir="back", arrowtail="open", label=label)
    return drawn


def _warn_of_repeated(names: list[str]) -> None:
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        warnings.warn(
            "There are multiple variables with the same name in your graph, this may result in cyclic graph. Repeated "
            f"names: {','.join(repeated)}",
            RuntimeWarning,
            stacklevel=3,
        )


def _look(node: Mapping[str, Any]) -> dict[str, str]:
    if node["op"] == "null":
        return {"shape": "oval", "fillcolor": _VARIABLE_COLOUR}
    return {"fillcolor": _COLOURS.get(node["op"], _OTHER_COLOUR)}


def _label(node: Mapping[str, Any]) -> str:
    """Return what stands in the box: of some operators the kind with its main attributes, else the name."""
    describe = _LABELS.get(node["op"])
    return str(node["name"]) if describe is None else describe(node.get("attrs", {}))


def _convolution(attrs: Attributes) -> str:
    return f"Convolution\n{_by(attrs['kernel'])}/{_stride(attrs)}, {attrs['num_filter']}"


def _pooling(attrs: Attributes) -> str:
    kernel = _by(attrs["kernel"]) if "kernel" in attrs else "[]"
    return f"Pooling\n{attrs.get('pool_type', 'max')}, {kernel}/{_stride(attrs)}"


def _stride(attrs: Attributes) -> str:
    return _by(attrs["stride"]) if "stride" in attrs else "1"


def _by(sizes: str) -> str:
    """Return the numbers of a tuple as it is stored, with an x between."""
    return "x".join(re.findall(r"\d+", sizes))


_LABELS: dict[str, Callable[[Attributes], str]] = {
    "Convolution": _convolution,
    "FullyConnected": lambda attrs: f"FullyConnected\n{attrs['num_hidden']}",
    "Activation": lambda attrs: f"Activation\n{attrs['act_type']}",
    "LeakyReLU": lambda attrs: f"LeakyReLU\n{attrs.get('act_type', 'Leaky')}",
    "Pooling": _pooling,
    "Custom": lambda attrs: attrs["op_type"],
}


class _EdgeLabels:
    """What stands at an edge: the shape and the dtype of the result that is read, as far as they were asked for."""

    def __init__(
        self, symbol: Symbol, shape: Mapping[str, tuple[int, ...]] | None, dtype: Mapping[str, Any] | None
    ) -> None:
        self._shapes: dict[str, tuple[int, ...]] | None = None
        self._types: dict[str, type] | None = None
        if shape is None and dtype is None:
            return
        internals = symbol.get_internals()
        self._heads = internals.list_outputs()
        self._known = frozenset(self._heads)
        self._places = _places(internals)
        if shape is not None:
            shapes = internals.infer_shape(**shape)[1]
            if shapes is None:
                raise ValueError("the shapes of the inputs leave others open; state those of all inputs")
            self._shapes = {head: found or () for head, found in zip(self._heads, shapes, strict=True)}
        if dtype is not None:
            types = internals.infer_type(**dtype)[1]
            if types is None:
                raise ValueError("the dtypes of the inputs leave others open; state those of all inputs")
            self._types = dict(zip(self._heads, types, strict=True))  # type: ignore[arg-type]  # none is open

    def of(self, source: Mapping[str, Any], slot: int) -> str:
        """Return the label of an edge that reads result `slot` of a node."""
        if self._shapes is None and self._types is None:
            return ""
        key = self._key(source, slot)
        label = ""
        if self._shapes is not None:
            label = "x".join(str(size) for size in self._shapes[key][1:])
        if self._types is not None:
            label += f"({self._types[key].__name__})"
        return label

    def _key(self, source: Mapping[str, Any], slot: int) -> str:
        """Return the name of the result whose type is shown; MXNet takes the last one where their number is stated."""
        name = str(source["name"])
        if source["op"] == "null":
            return name
        key = f"{name}_output"
        if "num_outputs" in source.get("attrs", {}):
            key += str(int(source["attrs"]["num_outputs"]) - 1)
        return key if key in self._known else self._heads[self._places[name, slot]]


def _places(internals: Symbol) -> dict[tuple[str, int], int]:
    """Where each result of each node, by its name and slot, stands among all of them."""
    numbers: dict[tuple[str, int], int] = {}
    counts: Counter[str] = Counter()
    for place, head in enumerate(internals):
        name = str(head.name)
        numbers.setdefault((name, counts[name]), place)
        counts[name] += 1
    return numbers

__all__ = ["Digraph", "plot_network", "quote"]
