"""docs/journeys.md: what the page shows is what its code and its commands print."""

from __future__ import annotations

from pathlib import Path

from tests.docs.test_tutorials import ROOT, differences


def test_the_page_shows_what_is_printed(tmp_path: Path) -> None:
    assert not "\n".join(differences(ROOT / "docs" / "journeys.md", tmp_path))
