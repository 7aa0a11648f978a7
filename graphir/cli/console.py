"""Output of the command: results on stdout, progress and errors on stderr."""

from __future__ import annotations

import json as json_module
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING

from graphir.safety.counted import Count, duration
from graphir.safety.foreign_text import encodable, one_line, without_commands
from graphir.structure.look import Style, harmless, look_of, paint, shown_as

if TYPE_CHECKING:
    from graphir.report.cases import Suite

LINES_SHOWN = 20


class Console:
    """Text for people, or one document for programs (JSON, or JUnit's XML); never both on stdout. For GitHub's runner
    it is the text and commands, and no line of the text is a command."""

    def __init__(
        self, output_format: str = "text", *, verbose: int = 0, quiet: bool = False, command: str = ""
    ) -> None:
        self.output_format = output_format
        self.verbose = verbose
        self.quiet = quiet
        self.command = command
        self.look = look_of(sys.stdout, whole=verbose > 0)
        self._judged = False
        self.steps: Sequence[str] = ()
        self._progress: ProgressLine | None = None

    def show(self, text: str | Callable[[], str]) -> None:
        """Print a text, or what makes it as stdout can show it, unless only a document or nothing is wanted."""
        if self.output_format not in ("text", "github") or self.quiet:
            self.close()
            return
        with shown_as(self.look):
            shown = text if isinstance(text, str) else text()
        self.close()
        say(shown, sys.stdout, has_colours=self.look.colour)

    def data(self, document: object) -> None:
        """Print a JSON document if JSON is wanted."""
        self.close()
        if self.output_format == "json":
            say(without_commands(json_module.dumps(document, indent=2), sharp=r"\u0023"), sys.stdout)

    def cases(self, suite: Callable[[], Suite]) -> None:
        """Print what was judged, if the format of a CI system is wanted."""
        self.close()
        if self.output_format == "junit":
            from graphir.report.ci_formats import junit_xml

            self._judged = True
            say(junit_xml(suite()).rstrip("\n"), sys.stdout)
        elif self.output_format == "github":
            from graphir.report.ci_formats import workflow_commands

            say(workflow_commands(suite()), sys.stdout, is_obeyed=True)

    def stage(self, text: str) -> None:
        """Show the current stage on one line that is replaced, if stderr is a terminal."""
        if self.quiet or sys.stderr is None or not sys.stderr.isatty():
            return
        if self._progress is None:
            self._progress = ProgressLine(self.steps, look_of(sys.stderr).width)
        self._progress.begin(encodable(one_line(text), sys.stderr.encoding))

    def count(self, count: Count) -> None:
        """Show the progress of the current stage, if stages are shown."""
        if self._progress is not None:
            self._progress.count(count)

    def flush(self) -> None:
        """Flush stdout, so that a full disk is noticed here."""
        if sys.stdout is not None:  # None where the shell closed it, as in >&-
            with _ignore_closed_pipe(sys.stdout):
                sys.stdout.flush()

    def error(self, text: str) -> None:
        """Print an error."""
        self.close()
        with suppress(OSError):  # a full disk that the error is about
            self.flush()
        if self.output_format == "github":
            from graphir.report.ci_formats import command

            say(command("error", f"graphir {self.command}", text), sys.stderr, is_obeyed=True)
        else:
            complain(text)

    def failed(self, text: str, error: BaseException) -> int:
        """Print an error with its notes, and at -vv its traceback. Return the exit code.

        Long lists are cut unless -v is set. All lines but the first are indented, so that a name with a line end cannot
        forge a line of this command.
        """
        lines = text.split("\n")
        if len(lines) > LINES_SHOWN + 1 and not self.verbose:
            lines[LINES_SHOWN:] = [f"  ... and {len(lines) - LINES_SHOWN:,} more (-v shows all)"]
        notes = [note for note in getattr(error, "__notes__", ()) if note]
        self.error("\n".join([_indent_lines("\n".join(lines)), *map(_indent_lines, notes)]))
        if self.verbose > 1:
            import traceback

            trace = "".join(traceback.format_exception(error)).rstrip("\n")
            say("  " + trace.replace("\n", "\n  "), sys.stderr)
        if self.output_format == "junit" and not self._judged:
            from graphir.report.cases import failed_suite

            self.cases(lambda: failed_suite(self.command, text))
        return 1

    def close(self) -> None:
        """Remove the progress line."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None


def _indent_lines(text: str) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *(line if line.startswith("  ") else f"  {line}" for line in rest)])


def complain(text: str) -> None:
    """Print an error on stderr, in colours where it has some."""
    seen = look_of(sys.stderr)
    with shown_as(seen):
        say(f"{paint('graphir: error:', Style.BAD)} {text}", sys.stderr, has_colours=seen.colour)


def say(text: str, stream: IO[str] | None, *, has_colours: bool = False, is_obeyed: bool = False) -> None:
    """Print a text on a stream (none where the shell closed it): nothing in it but our colours acts on a terminal, and
    nothing on the runner of a CI system unless it `is_obeyed`; what the stream's encoding lacks is written as escapes,
    so that no name in a model can make printing fail."""
    if stream is None:
        return
    shown = harmless(text, has_colours=has_colours)
    if not is_obeyed:
        shown = without_commands(shown)
    with _ignore_closed_pipe(stream):
        print(encodable(shown, getattr(stream, "encoding", None)), file=stream)


@contextmanager
def _ignore_closed_pipe(stream: IO[str]) -> Iterator[None]:
    """Discard further output if the reader of a stream has closed it, as `head -1` does."""
    try:
        yield
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


class ProgressLine:
    """A line on stderr with what is being done, for how long and for how much longer, written by a thread of its own
    after a moment.

    `steps` are the first words of the stages that a command goes through; a stage that begins with another word is part
    of the one before it.
    """

    DELAY = 0.5
    SETTLED = 1.0  # an estimate before so many seconds says more about how work starts than about how it goes on

    def __init__(self, steps: Sequence[str] = (), width: int | None = None) -> None:
        self.text = ""
        self._steps = steps
        self._step = 0
        self._width = width
        self._count: Count | None = None
        self._counted = Count("", 0, 0)
        self._done = threading.Event()
        self._started = self._counting = time.monotonic()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def begin(self, text: str) -> None:
        """Start a stage with this text."""
        word = text.partition(" ")[0]
        if word in self._steps:
            self._step = self._steps.index(word) + 1
        self.text = text
        if not self._has_more():
            self._count = None

    def count(self, count: Count) -> None:
        """Set the progress of a count. Counts inside another count are not shown."""
        known = self._count
        if known is not None and known.what != count.what and self._has_more():
            return
        if count.what != self._counted.what or count.done <= self._counted.done:
            self._counting = time.monotonic()
        self._count = self._counted = count

    def _has_more(self) -> bool:
        return self._count is not None and self._count.done < self._count.total - 1

    def stop(self) -> None:
        """Clear the line and end the thread."""
        self._done.set()
        self._thread.join()

    def line(self, now: float) -> str:
        """Return the line at a time of `time.monotonic`, no wider than the terminal."""
        parts = [f"step {self._step} of {len(self._steps)}: {self.text}" if self._step else self.text]
        count = self._count
        if count is not None and count.total > 1:
            parts.append(f"{count.what} {count.done + 1:,} of {count.total:,}")
            spent = now - self._counting
            if count.done and spent >= self.SETTLED:
                parts.append(f"about {duration(spent / count.done * (count.total - count.done))} left")
        end = f" ... {now - self._started:.0f} s"
        room = max(0, (self._width or 100) - 1 - len(end))
        said = ", ".join(parts)
        return (said if len(said) <= room else shorten_middle(said, room)) + end

    def _run(self) -> None:
        shown = False
        while not self._done.wait(self.DELAY):
            sys.stderr.write(f"\r\x1b[K{self.line(time.monotonic())}")
            sys.stderr.flush()
            shown = True
        if shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def shorten_middle(text: str, room: int) -> str:
    """Return the beginning and the end of a text, since the end shows the progress."""
    if room < 8:
        return text[:room]
    head = room // 3
    return f"{text[:head]}..{text[len(text) - (room - head - 2):]}"
