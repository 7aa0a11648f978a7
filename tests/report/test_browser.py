"""The report pages in a headless Chromium: what a click, a key, a narrow screen and a dark one do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphir.cli import main
from graphir.report.html import verification_html

from .browser import Browser, at_hand
from .test_pages import PAGES, layered

LONG = "a_name_without_any_place_to_break_it_" * 3
ROWS = 800
DIGITS = Path(__file__).resolve().parents[2] / "models" / "digits"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A file of each kind of page, and one with many layers."""
    folder = tmp_path_factory.mktemp("pages")
    made = layered(ROWS, broken=500)
    made.layers[3] = made.layers[3].__class__(**{**vars(made.layers[3]), "name": LONG})
    texts = {name: make() for name, make in PAGES.items()} | {"long": verification_html(made)}
    files = {name: folder / f"{name.replace(' ', '-')}.html" for name in texts}
    for name, path in files.items():
        path.write_text(texts[name], encoding="utf-8")
    return files


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with at_hand() as started:
        yield started


def visible(browser: Browser, selector: str) -> Any:
    """Whether an element is to be seen in the window."""
    return browser.run(
        f"(() => {{ const e = document.querySelector('{selector}'); const r = e.getBoundingClientRect();"
        "return e.checkVisibility() && r.width > 0 && r.top >= 0 && r.bottom <= innerHeight; })()"
    )


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", [*PAGES, "long"])
def test_nothing_is_refused_and_nothing_runs_off_the_screen(
    name: str, width: int, browser: Browser, pages: dict[str, Path]
) -> None:
    browser.open(pages[name], width=width, height=844)
    browser.run("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    assert browser.errors == []
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run("document.querySelectorAll('h1').length") == 1


def test_a_dark_screen_has_a_dark_page(browser: Browser, pages: dict[str, Path]) -> None:
    def ground(*, dark: bool) -> Any:
        browser.open(pages["per-layer"], dark=dark)
        return browser.run("getComputedStyle(document.body).backgroundColor")

    assert (ground(dark=False), ground(dark=True)) == ("rgb(245, 246, 248)", "rgb(15, 17, 21)")


def test_cards_on_a_phone_have_names_in_lines_of_their_own_and_the_verdict_above(
    browser: Browser, pages: dict[str, Path]
) -> None:
    browser.open(pages["per-layer"], width=390, height=844)
    assert visible(browser, ".banner")
    boxes = browser.run(
        "['.name', '.told'].map(kind => { const r = document.querySelector(`table.layers td${kind}`)"
        ".getBoundingClientRect(); return [r.left, r.top, r.width]; })"
    )
    (name_left, name_top, name_width), (told_left, told_top, _) = boxes
    assert name_width > 300
    assert told_top < name_top
    assert name_left == told_left
    assert browser.run("getComputedStyle(document.querySelector('.depth.slim')).display") == "block"
    assert browser.run("getComputedStyle(document.querySelector('.depth.broad')).display") == "none"


def test_fit_shows_the_whole_picture_of_a_plot(browser: Browser, tmp_path: Path) -> None:
    assert main(["plot", str(DIGITS), str(tmp_path / "plot.html"), "--most", "100", "-q"]) == 0
    browser.open(tmp_path / "plot.html", height=700)
    beyond = (
        "(() => { const v = document.querySelector('.view');"
        "return Math.max(v.scrollWidth - v.clientWidth, v.scrollHeight - v.clientHeight); })()"
    )
    assert browser.run(beyond) > 0
    browser.click("button[aria-label='show all of it']")
    assert browser.run(beyond) <= 0


def test_a_click_on_the_line_leads_to_the_row(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["long"])
    assert not browser.run("document.querySelector('#layer-501').checkVisibility()")
    address = browser.run("document.querySelector('.depth.broad a.broken').getAttribute('href')")
    browser.click(".depth.broad a.broken circle")
    assert visible(browser, f"[id='{address[1:]}']".replace("'", '"'))
    assert browser.run("document.activeElement.id") == address[1:]
    assert browser.run("location.hash") == address
    assert browser.run("document.querySelectorAll('tr.reached').length") == 1


def test_a_row_that_a_search_hides_is_shown_again(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["long"])
    browser.click("summary")
    search(browser, "layer799")
    assert shown(browser) == ["layer799"]
    browser.run("location.hash = '#layer-2'")
    browser.wait_for("document.activeElement.id === 'layer-2'")
    assert len(shown(browser)) == ROWS


def test_search_and_sort(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["long"])
    assert browser.run("document.querySelectorAll('.tools').length") == 0  # a closed table costs nothing
    browser.click("summary")
    search(browser, "broken LAYER6")
    assert shown(browser) == [f"layer{place}" for place in range(600, 700)]
    assert browser.run("document.querySelector('.tools output').textContent") == "100 of 800 layers"
    search(browser, "")
    browser.click("details th:nth-child(5) button")
    values = relatives(browser)
    assert values == sorted(values)
    assert browser.run("document.querySelector('details th:nth-child(5)').ariaSort") == "ascending"
    browser.run("document.querySelector('details th:nth-child(5) button').focus()")
    browser.key("Enter", 13)
    assert relatives(browser) == sorted(values, reverse=True)


def test_what_is_copied(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["conversion"], width=390)
    browser.run("navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }")
    browser.click(".copy button")
    assert browser.run("copied") == "-i data:N,3"
    assert browser.run("document.querySelector('.copy button').textContent") == "Copied"
    browser.click(".copy:last-of-type button")
    assert browser.run("copied").startswith("import numpy as np\nimport onnxruntime\n")


def test_the_keyboard_reaches_what_can_be_used(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["per-layer"])
    reached = []
    for _ in range(30):
        browser.key("Tab", 9)
        reached.append(browser.run("document.activeElement.tagName.toLowerCase()"))
    assert {"a", "summary", "button"} <= set(reached)
    assert browser.run("document.querySelectorAll('.depth.broad a:not([tabindex])').length") <= 12
    used = "[...document.querySelectorAll('input, select, button')]"
    unnamed = "e => !e.labels?.length && !e.ariaLabel && !e.textContent.trim()"
    assert browser.run(f"{used}.filter({unnamed}).length") == 0


def search(browser: Browser, text: str) -> None:
    """Type into the search of the table that is open, and wait until rows are hidden."""
    browser.wait_for("document.querySelector('details .tools input') !== null")
    browser.run("(() => { const e = document.querySelector('details .tools input'); e.focus(); e.select(); })()")
    if text:
        browser.type(text)
    else:
        browser.key("Backspace", 8)
    told = "document.querySelector('details .tools output').textContent"
    browser.wait_for(f"({told} !== '') === {json.dumps(bool(text))}")


def shown(browser: Browser) -> Any:
    """The names in the rows that are not hidden."""
    rows = "[...document.querySelectorAll('details tbody tr:not([hidden])')]"
    return browser.run(f"{rows}.map(row => row.cells[0].firstChild.textContent)")


def relatives(browser: Browser) -> Any:
    """The relative differences in the rows, in their order."""
    rows = "[...document.querySelectorAll('details tbody tr')]"
    return browser.run(f"{rows}.map(row => Number(row.cells[4].textContent))")
