"""The arguments of commands that take many models."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphir.registry.sources import Source


def add_sources(parser: argparse.ArgumentParser, text: str) -> None:
    """Add SOURCE..., --list and --list-root; `text` says what a source is."""
    parser.add_argument("sources", metavar="SOURCE", nargs="*", help=text)
    parser.add_argument(
        "--list", dest="lists", metavar="FILE", action="append", default=[],
        help="a list of models: .csv, .txt, .list, or .json with a member `models`; repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--list-root", metavar="DIR",
        help="the folder that all that a list names must lie below (default: the folder of the list)",
    )  # fmt: skip


def sources_of(options: argparse.Namespace) -> list[Source]:
    """Return the sources and the lists. Exits with a usage error if there are neither."""
    from graphir.registry.manifest import ListFile

    if not options.sources and not options.lists:
        options.parser.error("name at least one SOURCE, or a list of models with --list")
    if options.list_root is not None and not options.lists:
        options.parser.error("--list-root needs a list; name one with --list")
    return [*options.sources, *(ListFile(path, options.list_root or "") for path in options.lists)]


def shown_sources(options: argparse.Namespace) -> list[str]:
    """Return the sources and the lists as they were named."""
    return [*options.sources, *options.lists]
