"""What every page of graphir keeps to: one file, its tags balanced, that loads nothing and runs one script, its own."""

from __future__ import annotations

from html.parser import HTMLParser

from graphir.report.page import digest, read_asset

VOID = frozenset({"meta", "br"})
ADDRESSES = frozenset({"src", "href", "srcset", "action", "data", "poster", "xlink:href"})
LOADING = frozenset({"link", "iframe", "img", "object", "embed", "base", "form", "video", "audio", "frame"})


class Page(HTMLParser):
    """A page taken apart: the attributes of each tag, the scripts, the style sheets, and the ids."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in ("script", "style"):
            (self.scripts if self._open[-1] == "script" else self.styles).append(data)

    def ids(self) -> list[str]:
        """All ids, in the order of the page."""
        return [str(held["id"]) for _, held in self.tags if "id" in held]

    def links(self) -> list[str]:
        """Where links lead, in the order of the page."""
        return [str(held["href"]) for _, held in self.tags if "href" in held]


def check_page(text: str, leads: tuple[str, ...] = ()) -> Page:
    """Hold a page to what all keep to; `leads` are how addresses may begin that lead out of it."""
    page = Page(text)
    attributes = {key for _, held in page.tags for key in held}
    assert not {tag for tag, _ in page.tags} & LOADING
    assert attributes & ADDRESSES <= {"href"}
    assert not [key for key in attributes if key.startswith("on") or key == "style"]
    assert page.scripts == [read_asset("page.js")]
    (sheet,) = page.styles
    assert sheet.startswith(read_asset("page.css"))
    assert "url(" not in sheet
    assert "@import" not in sheet
    (policy,) = (str(held["content"]) for _, held in page.tags if held.get("http-equiv"))
    script = digest(page.scripts[0])
    assert policy.startswith(f"default-src 'none'; script-src '{script}'; style-src '{digest(sheet)}'; ")
    assert "unsafe" not in policy
    ids = page.ids()
    assert len(set(ids)) == len(ids)
    inside = [link[1:] for link in page.links() if link.startswith("#")]
    assert set(inside) <= set(ids)
    outside = [link for link in page.links() if not link.startswith("#")]
    assert all(link.startswith(leads) for link in outside) if leads else outside == []
    return page


__all__ = ["Page", "check_page"]
