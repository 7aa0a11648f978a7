"""docs/tutorials: what a page shows is what its code and its commands print, and MXNet's part is what MXNet prints."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from . import pages
from .pages import steps

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = ROOT / "docs" / "tutorials"
PAGES = sorted(TUTORIALS.glob("*.md"))
LINES = 150
OF_MXNET = ("composing", "cutting", "inference", "looking", "running")  # the pages that use MXNet's own functions


def differences(page: Path, folder: Path, *options: str) -> list[str]:
    """Where a page, played in a folder that holds the repository's models, prints something else than it shows."""
    for name in ("digits", "int8"):
        shutil.copytree(ROOT / "models" / name, folder / "models" / name)
    out = folder / "printed.json"
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    subprocess.run(
        [sys.executable, "-m", "tests.docs.player", str(page), str(out), *options],
        cwd=folder,
        env=environment,
        check=True,
        timeout=600,
    )
    found = []
    for step, printed in zip(steps(page.read_text()), json.loads(out.read_text()), strict=True):
        if printed is not None and (differs := pages.difference(step.wanted, printed)):
            found.append(f"{page.name}:{step.line}\n{differs}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_what_is_printed(page: Path, tmp_path: Path) -> None:
    assert not "\n".join(differences(page, tmp_path))


@pytest.mark.live
@pytest.mark.parametrize("page", OF_MXNET)
def test_mxnet_prints_the_same(page: str, tmp_path: Path, mxnet: ModuleType) -> None:
    assert not "\n".join(differences(TUTORIALS / f"{page}.md", tmp_path, "--mxnet"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_short_and_in_the_index(page: Path) -> None:
    text = page.read_text()
    assert len(text.splitlines()) <= LINES
    assert page.name == "README.md" or f"({page.name})" in (TUTORIALS / "README.md").read_text()
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        assert "://" in target or (page.parent / target).exists(), target


PAGE = """
```python
a = 2 / 3
print(a)
print("x  y")
```

```
0.66...
x  y
```

```console
$ graphir params \\
    models/digits -q
$ graphir params nothing
...
$ echo $?
1
```
"""


def played(text: str, folder: Path) -> list[str]:
    page = folder / "page.md"
    page.write_text(text)
    return differences(page, folder / "played")


def test_a_right_page(tmp_path: Path) -> None:
    assert played(PAGE, tmp_path) == []


@pytest.mark.parametrize(
    ("right", "wrong", "line"),
    [
        ("0.66...\n", "0.67...\n", 2),
        ("\nx  y", "", 2),
        ("\nx  y", "\nx y", 2),
        ("a = 2", "raise KeyError('a') #", 2),
        ("a = 2", "import warnings; warnings.warn('w', stacklevel=1); a = 2", 2),
        ("\n1\n", "\n0\n", 18),
        ("nothing\n...", "nothing", 16),
        ("graphir params nothing", "rm -r nothing", 18),
    ],
)
def test_a_wrong_page(right: str, wrong: str, line: int, tmp_path: Path) -> None:
    assert right in PAGE
    found = played(PAGE.replace(right, wrong), tmp_path)
    assert [entry.splitlines()[0] for entry in found] == [f"page.md:{line}"]


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("```sh\nls\n```", "line 1: nothing runs a block sh"),
        ("\n```\nx\n```", "line 2: nothing runs a block without a language"),
        ("```python\n1\n```\n```\n```\n```\n```", "line 6: nothing runs a block without"),
        ("```python\n1", "line 1: the block is not closed"),
        ("<!-- set up\nopen('x', 'w')\n-->", "line 1: no reader sees this comment"),
        ("```console\nls\n```", "line 1: a console block begins with a command"),
    ],
)
def test_a_page_that_nothing_would_run_is_refused(page: str, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        steps(page)


def test_what_a_machine_measures_is_not_compared() -> None:
    assert not pages.difference("took  0.19 s, 1.31.1, 4.2e-07\n", "took 11 s, 1.4.0, 5e-08\n")
    assert pages.difference("took 0.19 s of 443", "took 0.18 s of 444")
    assert pages.difference("4.2 layers", "4.3 layers")
