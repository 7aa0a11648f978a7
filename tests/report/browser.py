"""A headless Chromium driven over its debugging pipe, with nothing but the standard library: for tests of the report
pages and for their screenshots.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.requirements import missing

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
SWITCHES = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage", "--hide-scrollbars",
    "--remote-debugging-pipe",
)  # fmt: skip
# The browser reads from file 3 and writes to file 4.
START = """
import fcntl, os, sys
reads, writes = (fcntl.fcntl(int(file), fcntl.F_DUPFD, 10) for file in sys.argv[1:3])
os.dup2(reads, 3)
os.dup2(writes, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
SECONDS = 60.0
# The tallest picture that is taken, in pixels of the page.
TALLEST = 6000


def browser_path() -> str | None:
    """The Chromium at hand: that of GRAPHIR_BROWSER, or the first of the usual names on the path; else None."""
    named = shutil.which(os.environ.get("GRAPHIR_BROWSER", ""))
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


def at_hand() -> Browser:
    """The browser for a test, or a skip that says that none is there."""
    path = browser_path()
    if path is None:
        missing("browser", "no Chromium is at hand, on the path or named by GRAPHIR_BROWSER")
    return Browser(path)


class BrowserFailed(RuntimeError):
    """The browser ended, did not answer in time, or said that something is wrong."""


class Browser:
    """A browser with one page, as a context manager. `errors` are what scripts threw and what a policy refused."""

    def __init__(self, path: str) -> None:
        self._folder = tempfile.mkdtemp(prefix="graphir-browser-")
        ours, theirs = os.pipe(), os.pipe()
        started = [sys.executable, "-c", START, str(ours[0]), str(theirs[1])]
        self._process = subprocess.Popen(
            [*started, path, *SWITCHES, f"--user-data-dir={self._folder}", "about:blank"],
            pass_fds=(ours[0], theirs[1]), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(ours[0])
        os.close(theirs[1])
        self._out, self._in = ours[1], theirs[0]
        self._waiting = b""
        self._number = 0
        self._session = ""
        self._loaded = False
        self.errors: list[str] = []

    def __enter__(self) -> Browser:
        try:
            target = self._call("Target.createTarget", url="about:blank")["targetId"]
            self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log"):
                self._call(f"{domain}.enable")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the browser and remove what it kept."""
        for pipe in (self._out, self._in):
            os.close(pipe)
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def open(self, page: Path, *, width: int = 1280, height: int = 800, dark: bool = False) -> None:
        """Load a file at a size of the window, in light or in dark."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 700}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self._call("Emulation.setEmulatedMedia", features=features)
        self.errors.clear()
        self._loaded = False
        self._call("Page.navigate", url=page.resolve().as_uri())
        end = time.monotonic() + SECONDS
        while not self._loaded:
            self._read(end)

    def run(self, script: str) -> Any:
        """The value of an expression in the page, as plain data; a promise is waited for."""
        how = {"returnByValue": True, "awaitPromise": True, "userGesture": True}
        answer = self._call("Runtime.evaluate", expression=script, **how)
        if "exceptionDetails" in answer:
            raise BrowserFailed(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Wait until an expression in the page is true: the page answers clicks and keys in tasks of its own."""
        end = time.monotonic() + SECONDS
        while not self.run(condition):
            if time.monotonic() > end:
                raise BrowserFailed(f"{condition} did not become true in {SECONDS:.0f} seconds")
            time.sleep(0.01)

    def click(self, selector: str) -> None:
        """Click in the middle of an element, as a mouse does."""
        place = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
            "return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self._call("Input.insertText", text=text)

    def key(self, name: str, code: int) -> None:
        """Press a key: its name and its number, as `Tab` and 9."""
        text = {"text": "\r"} if name == "Enter" else {}
        for kind in ("keyDown" if text else "rawKeyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code, **text)

    def picture(self, *, whole: bool = True) -> bytes:
        """The page as a PNG: what is in the window, or the `whole` page down to TALLEST."""
        options: dict[str, Any] = {"format": "png"}
        if whole:
            size = self._call("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], TALLEST), "scale": 1}
            options |= {"captureBeyondViewport": True, "clip": clip}
        return base64.b64decode(self._call("Page.captureScreenshot", **options)["data"])

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        number = self._number
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        end = time.monotonic() + SECONDS
        while True:
            answer = self._read(end)
            if answer.get("id") == number:
                if "error" in answer:
                    raise BrowserFailed(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result

    def _read(self, end: float) -> Mapping[str, Any]:
        """The next message."""
        while b"\0" not in self._waiting:
            ready, _, _ = select.select([self._in], [], [], max(0.0, end - time.monotonic()))
            data = os.read(self._in, 1 << 20) if ready else b""
            if not data:
                raise BrowserFailed("the browser ended" if ready else f"no answer of the browser in {SECONDS:.0f} s")
            self._waiting += data
        text, _, self._waiting = self._waiting.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        method, told = message.get("method"), message.get("params", {})
        self._loaded = self._loaded or method == "Page.loadEventFired"
        if method == "Runtime.exceptionThrown":
            self.errors.append(str(told["exceptionDetails"]))
        if method == "Log.entryAdded" and told["entry"]["level"] == "error":
            self.errors.append(told["entry"]["text"])
        return message


__all__ = ["Browser", "BrowserFailed", "at_hand", "browser_path"]
