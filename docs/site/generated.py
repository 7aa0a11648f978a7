"""A Sphinx extension: what the pages take from the program itself when the site is built.

`graphir-commands` lists every command with its options, `graphir-operators` every operator by family. Docstrings, which
are plain text with names in single backticks, become reStructuredText. A page that shows a file beside docs/ gets its
text, and links to such files lead to those pages.
"""

from __future__ import annotations

import argparse
import dataclasses
import enum
import posixpath
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from graphir.cli import COMMANDS, command_parser
from graphir.ops import FAMILIES, Operator, by_name

# Files beside docs/ that pages link to, and the page (a file below docs/) that shows each of them.
SHOWN = {
    "README.md": "index.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "benchmarks/README.md": "project/benchmarks.md",
    "benchmarks/RESULTS.md": "project/results.md",
    "graphir/serial/FORMAT.md": "project/format.md",
    "models/digits/README.md": "project/digits.md",
}
ROOT = Path(__file__).resolve().parents[2]
FOLLOWS = "when it is built.\n"  # behind it the start page has the tree of all pages
_LINK = re.compile(r"""(\]\(|\ssrc=\")(?![a-z]+:)([^)#"\s]+)([)#"])""")
_CODE = re.compile(r"(`+[^`]+`+)")
_MARKUP = re.compile(r"([*|\\]|(?<=\w)_(?=\W|$))")


def parser_of(name: str) -> Callable[[], argparse.ArgumentParser]:
    """What makes the parser of a command: sphinx_argparse_cli calls functions of a module by their names."""
    return lambda: command_parser(name)


globals().update({f"parser_of_{name.replace('-', '_')}": parser_of(name) for name in COMMANDS})


class Commands(SphinxDirective):
    """A section for each command: its usage, its arguments and its options, as its parser has them."""

    def run(self) -> list[nodes.Node]:
        """The sections."""
        lines = []
        for name in COMMANDS:
            function = f"parser_of_{name.replace('-', '_')}"
            lines += [
                ".. sphinx_argparse_cli::",
                "   :module: generated",
                f"   :func: {function}",
                f"   :prog: graphir {name}",
                f"   :title: graphir {name}",
                "   :usage_width: 80",
                "   :group_title_prefix:",
                "   :no_default_values:",
                "",
            ]
        made = self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)
        for node in [found for part in made for found in part.findall(_is_code)]:
            node.replace_self(nodes.literal("", node.astext()))
        return made


class Operators(SphinxDirective):
    """A section for each family of operators, with their docstrings and attributes."""

    def run(self) -> list[nodes.Node]:
        """The sections."""
        lines = []
        for family in FAMILIES:
            title = family.replace("_", " ").capitalize()
            lines += [title, "-" * len(title), ""]
            for name in sorted(by_name(import_module(f"graphir.ops.{family}").OPERATORS)):
                lines += [f".. autoclass:: graphir.ops.{name}", ""]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def _is_code(node: nodes.Node) -> bool:
    """Whether plain help text was read as markup here: `data:1,3` is no address, and backticks are code."""
    return isinstance(node, nodes.title_reference) or (
        isinstance(node, nodes.reference) and str(node.get("refuri", "")).startswith("data:")
    )


def as_markup(_: Sphinx, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """A docstring as reStructuredText, in place: code in backticks is literal, the rest is plain; doctests stay."""
    shown = []
    in_doctest = False
    for line in lines:
        in_doctest = line.lstrip().startswith(">>>") or (in_doctest and bool(line.strip()))
        shown.append(line if in_doctest else "".join(_marked(part) for part in _CODE.split(line)))
    if isinstance(found, type) and issubclass(found, Operator) and found is not Operator:
        shown += ["", f"Operands: {_names(found.inputs)}. Results: {_names(found.outputs)}.", ""]
    lines[:] = shown


def attributes(_: Sphinx, what: str, name: str, found: Any, options: Any, *signature: str | None) -> Any:
    """The signature of an operator: its attributes, their types and defaults."""
    if not (isinstance(found, type) and issubclass(found, Operator)) or found is Operator:
        return None
    shown = [f"{field.name}: {_type(field.type)}{_default(field)}" for field in dataclasses.fields(found)]
    return f"({', '.join(shown)})", None


def _type(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is not dataclasses.MISSING:
        return f" = {field.default!s}" if isinstance(field.default, enum.Enum) else f" = {field.default!r}"
    return "" if field.default_factory is dataclasses.MISSING else f" = {field.default_factory()!r}"


def _marked(part: str) -> str:
    if part.startswith("`"):
        return f"\\ ``{part.strip('`').strip()}``\\ "  # a letter may stand right beside it
    return _MARKUP.sub(r"\\\1", part)


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"``{name}``" for name in names) or "none"


def show(app: Sphinx, page: str, source: list[str]) -> None:
    """A page of SHOWN becomes the file that it shows; links in it, and links out of docs/, lead to pages."""
    here = f"docs/{page}.md"
    file = next((file for file, shown in SHOWN.items() if f"docs/{shown}" == here), here)
    if file != here:
        app.env.note_dependency(str(ROOT / file))
        text = (ROOT / file).read_text(encoding="utf-8")
        source[0] = text + source[0].partition(FOLLOWS)[2]

    def led(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(file), link[2]))
        target = f"docs/{SHOWN[target]}" if target in SHOWN else target
        return link[1] + posixpath.relpath(target, posixpath.dirname(here)) + link[3]

    source[0] = _LINK.sub(led, source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register all of it."""
    app.add_directive("graphir-commands", Commands)
    app.add_directive("graphir-operators", Operators)
    app.connect("autodoc-process-docstring", as_markup)
    app.connect("autodoc-process-signature", attributes)
    app.connect("source-read", show)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
