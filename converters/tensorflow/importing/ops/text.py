"""Strings."""

from __future__ import annotations

from graphir.converters.tensorflow.importing.context import ImportFunction

IMPORTS: dict[str, ImportFunction] = {}
