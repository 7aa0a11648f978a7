"""Protobuf's text format (.pbtxt), read after the tables in `messages` into the same dicts as `wire` gives.

Errors name the line. Source: protobuf's text format language specification.
"""

from __future__ import annotations

import re
import sys
from typing import Any, NoReturn

from graphir.converters.tensorflow.dtypes import codes_by_text
from graphir.converters.tensorflow.files.messages import SCALARS, MessageField, fields_by_name
from graphir.converters.tensorflow.files.wire import DEEPEST, Blob, Message
from graphir.errors import FormatError

_TOKEN = re.compile(
    r"""(?P<space>(?:\s|\#[^\n]*)+)
    |(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<number>[-+]?(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)[fF]?)
    |(?P<name>-?[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>[{}<>\[\]:,;])""",
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_CLOSING = {"{": "}", "<": ">"}
DIGITS = 60


def parse(text: str, message: str) -> Message:
    """Return the message that a text holds. Raises FormatError naming the line."""
    parser = _TextFormatParser(text)
    content = parser.message(message, "", 0)
    return content


class _TextFormatParser:
    """One text and the place that it was read to. The token at hand is `kind` and `token`."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._start = 0
        self.kind = self.token = ""
        self._next()

    def _next(self) -> None:
        while True:
            self._start = self._position
            if self._position == len(self._text):
                self.kind = self.token = ""
                return
            match = _TOKEN.match(self._text, self._position)
            if match is None:
                self._fail(f"unexpected {self._text[self._position : self._position + 20]!r}")
            self._position = match.end()
            if match.lastgroup != "space":
                self.kind, self.token = match.lastgroup or "", match.group()
                return

    def _fail(self, reason: str) -> NoReturn:
        line = self._text.count("\n", 0, self._start) + 1
        raise FormatError(f"line {line}: {reason}")

    def _take(self, wanted: str) -> bool:
        if self.kind == "sign" and self.token == wanted:
            self._next()
            return True
        return False

    def message(self, message: str, closing: str, depth: int) -> Message:
        """Return the fields up to the closing sign, or to the end of the text for none."""
        if depth > DEEPEST:
            self._fail(f"messages are nested more than {DEEPEST} levels deep")
        fields = fields_by_name(message)
        content: Message = {}
        while not (closing and self._take(closing)):
            if not self.kind:
                if closing:
                    self._fail(f"the text ends inside {message}; {closing!r} is missing")
                return content
            if self.kind != "name":
                self._fail(f"found {self.token!r}, expected the name of a field of {message}")
            field = fields.get(self.token)
            if field is None:
                self._fail(f"{message} has no field {self.token!r}; it has {', '.join(fields)}")
            self._next()
            self._field(field, content, depth)
            if not self._take(","):
                self._take(";")
        return content

    def _field(self, field: MessageField, content: Message, depth: int) -> None:
        colon = self._take(":")
        if (colon or field.kind not in SCALARS) and self._take("["):
            if not self._take("]"):
                self._add(field, content, depth)
                while self._take(","):
                    self._add(field, content, depth)
                if not self._take("]"):
                    self._fail(f"found {self.token!r} in the list {field.name}, expected ',' or ']'")
            return
        if not colon and self.token not in _CLOSING:
            self._fail(f"found {self.token!r} after {field.name}, expected ':' or '{{'")
        self._add(field, content, depth)

    def _add(self, field: MessageField, content: Message, depth: int) -> None:
        if field.kind == "any":
            self._skip(depth)
        elif field.is_map:
            key, value = self._entry(field, depth)
            content.setdefault(field.name, {})[key] = value
        elif field.repeated:
            content.setdefault(field.name, []).append(self._value(field, depth))
        elif field.name in content:
            self._fail(f"{field.name} is stated twice")
        else:
            content[field.name] = self._value(field, depth)

    def _opening(self, name: str) -> str:
        closing = _CLOSING.get(self.token, "") if self.kind == "sign" else ""
        if not closing:
            self._fail(f"found {self.token!r} for {name}, expected '{{'")
        self._next()
        return closing

    def _entry(self, field: MessageField, depth: int) -> tuple[str, Any]:
        closing = self._opening(field.name)
        key = ""
        value: Any = "" if field.kind == "string" else {}
        while not self._take(closing):
            if self.kind != "name" or self.token not in ("key", "value"):
                self._fail(f"found {self.token!r} in an entry of {field.name}, expected key or value")
            is_key = self.token == "key"
            self._next()
            self._take(":")
            if is_key:
                key = self._string().decode("utf-8", "replace")
            else:
                value = self._value(field, depth)
            if not self._take(","):
                self._take(";")
        return key, value

    def _value(self, field: MessageField, depth: int) -> Any:
        kind = field.kind
        if kind in ("string", "bytes", "blob"):
            data = self._string()
            if kind == "string":
                return data.decode("utf-8", "replace")
            return Blob(memoryview(data)) if kind == "blob" else data
        if kind in ("float", "double"):
            return self._float(field.name)
        if kind in ("int", "uint"):
            return self._integer(field.name, kind)
        if kind == "bool":
            return self._bool(field.name)
        if kind == "DataType":
            return self._data_type(field.name)
        return self.message(kind, self._opening(field.name), depth + 1)

    def _string(self) -> bytes:
        if self.kind != "string":
            self._fail(f"found {self.token!r}, expected a text in quotes")
        pieces = []
        while self.kind == "string":
            pieces.append(self._unescaped(self.token[1:-1]))
            self._next()
        return b"".join(pieces)

    def _unescaped(self, body: str) -> bytes:
        parts, last = [], 0
        for match in _ESCAPE.finditer(body):
            parts.append(body[last : match.start()].encode())
            octal, hexadecimal, short, long, plain = match.groups()
            if octal or hexadecimal:
                code = int(octal, 8) if octal else int(hexadecimal, 16)
                parts.append(bytes([code & 255]))
            elif short or long:
                code = int(short or long, 16)
                if code > sys.maxunicode:
                    self._fail(f"found \\U{long}, which is no character")
                parts.append(chr(code).encode("utf-8", "replace"))
            else:
                parts.append(_SIMPLE.get(plain, plain).encode())
            last = match.end()
        parts.append(body[last:].encode())
        return b"".join(parts)

    def _float(self, name: str) -> float:
        text = self.token.lower()
        if self.kind == "name" and text.lstrip("-") in ("inf", "infinity", "nan"):
            self._next()
            return float(text)
        if self.kind != "number":
            self._fail(f"found {self.token!r} for {name}, expected a number")
        self._next()
        if "x" not in text:
            return float(text.rstrip("f"))
        if len(text) > DIGITS:
            self._fail(f"found {text[:DIGITS]}... for {name}, which is no number of 64 bits")
        return float(int(text, 16))

    def _integer(self, name: str, kind: str = "int") -> int:
        text = self.token if len(self.token) < DIGITS else f"{self.token[:DIGITS]}..."
        sign = -1 if text.startswith("-") else 1
        digits = text.lstrip("+-")
        base = 16 if digits[:2].lower() == "0x" else 8 if len(digits) > 1 and digits.startswith("0") else 10
        try:
            number = sign * int(digits, base)
        except ValueError:
            self._fail(f"found {text!r} for {name}, expected a whole number")
        least, most = (-(1 << 63), 1 << 63) if kind == "int" else (0, 1 << 64)
        if not least <= number < most:
            self._fail(f"{text} for {name} takes more than 64 bits, or is below 0")
        self._next()
        return number

    def _bool(self, name: str) -> bool:
        text = self.token.lower()
        if text not in ("true", "false", "t", "f", "0", "1"):
            self._fail(f"found {self.token!r} for {name}, expected true or false")
        self._next()
        return text in ("true", "t", "1")

    def _data_type(self, name: str) -> int:
        if self.kind == "number":
            return self._integer(name)
        code = codes_by_text().get(self.token)
        if code is None:
            self._fail(f"found {self.token!r} for {name}, expected a dtype such as DT_FLOAT")
        self._next()
        return code

    def _skip(self, depth: int) -> None:
        """Pass over a value of any kind."""
        if depth > DEEPEST:
            self._fail(f"messages are nested more than {DEEPEST} levels deep")
        if self.kind == "sign" and self.token in _CLOSING:
            closing = self._opening("")
            while not self._take(closing):
                if not self.kind:
                    self._fail(f"the text ends; {closing!r} is missing")
                self._skip(depth + 1) if self.token in _CLOSING else self._next()
        elif self.kind == "string":
            self._string()
        elif self.kind in ("number", "name"):
            self._next()
        else:
            self._fail(f"found {self.token!r}, expected a value")
