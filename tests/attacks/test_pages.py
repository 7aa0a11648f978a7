"""Every page of graphir in Chromium, its policy removed, with names in models, files and folders that are markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from graphir.cli import COMMANDS as NAMES
from graphir.cli import command_parser, main
from tests.report.browser import Browser, at_hand

make = onnx.helper
FLOAT = onnx.TensorProto.FLOAT
ACT = "window.acted=1"
# Elements, attributes, ends of what a name may stand in, addresses, escapes that a script may decode, names of objects.
HOSTILE = {
    "element": f"<script>{ACT}</script><iframe srcdoc='<script>parent.acted=1</script>'></iframe>",
    "attribute": f"\"' autofocus tabindex=1 onfocus={ACT} onmouseover={ACT} x='\"><img src=x onerror={ACT}>",
    "end": f"--></script></style></title></textarea></template>]]><svg onload={ACT}><script>{ACT}</script>",
    "address": f"javascript:{ACT}//\" href=javascript:{ACT} xlink:href=javascript:{ACT}",
    "escape": rf"&lt;img src=x onerror={ACT}&gt;\u003cimg src=x onerror={ACT}\u003e%3Cimg onerror={ACT}%3E${{{ACT}}}",
    "object": f"__proto__<b id=acted>constructor['{ACT}']`${{{ACT}}}`;{ACT};//\\",
}
COMMANDS = {
    "convert": ["convert", "FIRST", "TARGET", "--report", "PAGE"],
    "verify": ["convert", "FIRST", "TARGET", "--per-layer", "--report", "PAGE"],
    "pair": ["verify", "FIRST", "OTHER", "--per-layer", "--report", "PAGE"],
    "diff": ["diff", "FIRST", "OTHER", "--report", "PAGE"],
    "padding": ["padding", "FIRST", "--report", "PAGE"],
    "paddings": ["padding", "FIRST", "OTHER", "--report", "PAGE"],
    "cost": ["cost", "FIRST", "--report", "PAGE"],
    "memory": ["memory", "FIRST", "--timeline", "PAGE"],
    "training": ["memory", "FIRST", "--training", "--timeline", "PAGE"],
    "quantize": ["quantize", "FIRST", "TARGET", "--feeds", "FEEDS", "--report", "PAGE"],
    "plot": ["plot", "FIRST", "PAGE"],
    "plots": ["plot", "FIRST", "OTHER", "PAGE"],
    "judged": ["plot", "FIRST", "PAGE", "--report", "PROOF"],
    "registry": ["convert-all", "FOLDER", "--out", "OUT", "--jobs", "1", "--verify"],
}


def model(path: Path, text: str, *, seed: int, pads: int) -> Path:
    """A model in which everything that can have a name has a hostile one."""
    random = np.random.default_rng(seed)
    weight = onnx.numpy_helper.from_array(random.standard_normal((4, 3, 3, 3)).astype(np.float32), f"w{text}")
    pad = [pads] * 4
    nodes = [
        make.make_node("Conv", [f"x{text}", f"w{text}"], [f"c{text}"], name=f"conv{text}", pads=pad),
        make.make_node("Relu", [f"c{text}"], [f"r{text}"], name=f"relu{text}"),
        make.make_node("Conv", [f"x{text}", f"w{text}"], [f"d{text}"], name=f"second{text}", pads=pad),
        make.make_node("Add", [f"r{text}", f"d{text}"], [f"y{text}"], name=f"add{text}"),
    ]
    graph = make.make_graph(
        nodes, f"graph{text}", [make.make_tensor_value_info(f"x{text}", FLOAT, [1, 3, 8, 8])],
        [make.make_tensor_value_info(f"y{text}", FLOAT, None)], [weight],
    )  # fmt: skip
    made = make.make_model(
        graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8, producer_name=f"maker{text}",
        producer_version=text, doc_string=text,
    )  # fmt: skip
    make.set_model_props(made, {f"key{text}": f"value{text}"})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(made.SerializeToString())
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with at_hand() as started:
        yield started


def pages_of(command: str, text: str, folder: Path) -> list[Path]:
    """The pages that a command writes of hostile models, in a folder and under names that are markup too."""
    place = folder / re.sub("[/\0]", "_", text)[:100]
    given = {
        "FIRST": model(place / "models" / f"a{place.name}.onnx", text, seed=0, pads=1),
        "OTHER": model(place / "models" / f"b{place.name}.onnx", text, seed=1, pads=int(command != "paddings")),
        "FOLDER": place / "models", "OUT": folder / "out", "TARGET": folder / "target.onnx",
        "PAGE": folder / "page.html", "PROOF": folder / "proof.json", "FEEDS": folder / "feeds",
    }  # fmt: skip
    if command == "quantize":
        given["FEEDS"].mkdir()
        for number in range(8):
            np.save(given["FEEDS"] / f"{number}.npy", np.full((1, 3, 8, 8), number, np.float32))
    if command == "registry":
        (place / "models" / f"c{place.name}.onnx").write_bytes(b"no model")
    if command == "judged":
        words = ["verify", given["FIRST"], given["OTHER"], "--per-layer", "--report", given["PROOF"], "-q"]
        assert main(list(map(str, words))) == 4
    assert main([str(given.get(word, word)) for word in COMMANDS[command]]) in (0, 1, 4, 5)
    pages = [page for page in folder.rglob("*.html") if place not in page.parents]
    assert len(pages) == (3 if command == "registry" else 1)
    return pages


def test_every_command_with_a_page_is_tried() -> None:
    page = {"--report", "--timeline"}
    writers = {name for name in NAMES if page & {*command_parser(name)._option_string_actions}}
    assert {words[0] for words in COMMANDS.values()} == writers | {"plot", "convert-all"}


def explored(browser: Browser) -> Any:
    """Open, focus and point at everything that a page has, and wait a moment; whether a name acted."""
    return browser.run(
        "(async () => {"
        "document.querySelectorAll('details').forEach(part => { part.open = true; });"
        "for (const e of [...document.querySelectorAll('*')].slice(0, 3000)) {"
        "  for (const kind of ['mouseover', 'mouseenter', 'mousemove', 'focus', 'focusin'])"
        "    e.dispatchEvent(new MouseEvent(kind, {bubbles: true}));"
        "  if (e.matches('button, summary, g, rect, td, th, input'))"
        "    e.dispatchEvent(new MouseEvent('click', {bubbles: true}));"
        "}"
        "for (const e of document.querySelectorAll('input')) {"
        "  e.value = '<img src=x onerror=window.acted=1>'; e.dispatchEvent(new Event('input', {bubbles: true})); }"
        "await new Promise(done => setTimeout(done, 150));"
        "return [window.acted === undefined ? 0 : 1,"
        " document.querySelectorAll('iframe, img, object, embed, base, form, link').length,"
        " document.querySelectorAll('script').length,"
        " [...document.querySelectorAll('*')].filter(e => [...e.attributes].some(a => /^on|javascript:/i.test(a.name)"
        "   || (/href|src|action/i.test(a.name) && /^\\s*javascript:/i.test(a.value)))).length,"
        " performance.getEntriesByType('resource').length]; })()"
    )


@pytest.mark.one_of(4, by="command")
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_name_acts_on_a_page(command: str, text: str, browser: Browser, tmp_path: Path) -> None:
    for page in pages_of(command, text, tmp_path):
        whole = page.read_text(encoding="utf-8")
        without, count = re.subn(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", whole)
        assert count == 1
        bare = page.with_name("bare.html")
        bare.write_text(without, encoding="utf-8")
        browser.open(bare)
        acted, elements, scripts, attributes, loaded = explored(browser)
        assert (acted, elements, attributes, loaded) == (0, 0, 0, 0), page.name
        assert scripts == (2 if COMMANDS[command][0] == "plot" else 1), page.name  # a picture's data are another
        assert browser.errors == []
