"""Writing a report to a file, as its suffix says."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from graphir.files.writing import replacing

from .conversion import ConversionReport
from .verification import verification_json

if TYPE_CHECKING:
    from graphir.graph import Graph
    from graphir.verification.report import VerificationReport


def write_report(
    report: ConversionReport | VerificationReport,
    path: str | os.PathLike[str],
    graph: Callable[[], Graph | None] = lambda: None,
    files: tuple[str, str] = ("", ""),
) -> None:
    """Write a report as .html or .json. A verification's page draws `graph` and names the `files` that were compared.
    Raises ExportFailure if the file cannot be written."""
    if os.fspath(path).endswith(".html"):
        from .html import verification_html

        text = report.to_html() if isinstance(report, ConversionReport) else verification_html(report, graph(), files)
    else:
        data = report.to_json() if isinstance(report, ConversionReport) else verification_json(report)
        text = json.dumps(data, indent=2) + "\n"
    _write(path, text)


def write_document(path: str | os.PathLike[str], data: object, page: Callable[[], str]) -> None:
    """Write plain data as .json, or the page as .html. Raises ExportFailure if the file cannot be written."""
    _write(path, page() if os.fspath(path).endswith(".html") else json.dumps(data, indent=2) + "\n")


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text as it is. Raises ExportFailure if the file cannot be written."""
    _write(path, text)


def _write(path: str | os.PathLike[str], text: str) -> None:
    with replacing(path) as (file,):
        file.write(text.encode("utf-8"))
