"""A directed graph in the DOT language, written as the Python package graphviz 0.8.4 writes it, which MXNet 1.9.1 uses.

Its layout is drawn by the program `dot` of Graphviz, which is not needed to write the text.
"""

from __future__ import annotations

import os
import re
import webbrowser
from collections.abc import Mapping
from pathlib import Path

from graphir.errors import ExportFailure
from graphir.files.writing import replacing
from graphir.safety.children import find_program, run_program

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
        """Where `save` writes the text unless it is told."""
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


__all__ = ["Digraph", "quote"]
