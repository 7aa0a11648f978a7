"""README.md and docs/: what a page shows is what its code and its commands print, and no code block is left out."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.docs.pages import reasons, run_by_ci, steps
from tests.docs.test_tutorials import PAGES as TUTORIALS
from tests.docs.test_tutorials import ROOT, differences
from tests.requirements import missing

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Pages that use a live framework themselves.
LIVE = {"howto/pytorch.md": "PyTorch", "howto/tensorflow.md": "TensorFlow", "tensorflow.md": "TensorFlow"}
MODULES = {"PyTorch": "torch", "TensorFlow": "tensorflow"}
# Pages whose blocks a module of tests runs by itself.
OWN_TESTS = {"plugins.md": "tests/cli/test_plugins.py"}


def name_of(page: Path) -> str:
    return page.relative_to(ROOT / "docs").as_posix() if page.is_relative_to(ROOT / "docs") else page.name


def is_played(page: Path) -> bool:
    """Whether a page is played here. What no block of another kind may be, the test of every block says."""
    runs = re.search("^```(python|console|diff)$", page.read_text(), re.MULTILINE)
    return page not in TUTORIALS and name_of(page) not in OWN_TESTS and runs is not None


PLAYED = [
    pytest.param(page, marks=pytest.mark.live if name_of(page) in LIVE else (), id=name_of(page))
    for page in PAGES
    if is_played(page)
]


@pytest.mark.parametrize("page", PLAYED)
def test_a_page_shows_what_is_printed(page: Path, tmp_path: Path) -> None:
    name = name_of(page)
    if name in LIVE and find_spec(MODULES[LIVE[name]]) is None:
        missing(LIVE[name], f"live {LIVE[name]} cannot be imported")
    assert not "\n".join(differences(page, tmp_path))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_something_runs_every_block(page: Path) -> None:
    text = page.read_text()
    steps(text)
    ran = re.findall(r"^run_readme (\w+)$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    assert set(run_by_ci(text)) <= set(ran if page.name == "README.md" else ())


@pytest.mark.parametrize("page, module", OWN_TESTS.items())
def test_the_module_that_runs_a_page_knows_it(page: str, module: str) -> None:
    assert f'"{page}"' in (ROOT / module).read_text()


def test_few_blocks_are_not_run() -> None:
    found = {name_of(page): told for page in PAGES if (told := reasons(page.read_text()))}
    assert sum(map(len, found.values())) <= 25, found


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_reader_sees_the_names_of_files(page: Path) -> None:
    """The comment that makes a block a file is seen by nobody: the text says how the file is called."""
    text = page.read_text()
    seen = re.sub("<!--.*?-->", "", text, flags=re.DOTALL)
    names = [step.text.split("\n")[0] for step in steps(text) if step.language == "file"]
    assert [name for name in names if name not in seen] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_files(page: Path) -> None:
    for target in re.findall(r"(?:\]\(|\ssrc=\")([^)#\"\s]+)[^)]*[)\"]", page.read_text()):
        assert "://" in target or (page.parent / target).exists(), target
