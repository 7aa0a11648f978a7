"""Rules of the operators on texts."""

from __future__ import annotations

from graphir.ops.text import (
    RegexFullMatch,
    StringConcat,
    StringNormalizer,
    StringSplit,
    TfIdfMode,
    TfIdfVectorizer,
)
from tests.ops.harness import backward, bad, good
from tests.ops.late import late

STOPPED = StringNormalizer(stopwords=("monday",))
COUNTS = TfIdfVectorizer(TfIdfMode.TF, 1, 2, 0, (0, 2), (0, 3, 2), pool_int64s=(2, 3, 5, 4))

GOOD = (
    (StringConcat(), ("string[N,1]", "string[3]"), ["string[N, 3]"]),
    (StringConcat(), ("?[...]", "string[3]"), ["string[...]"]),
    (StringNormalizer(), ("string[N]",), ["string[N]"]),
    (StringNormalizer(), ("string[1,4]",), ["string[1, 4]"]),
    (STOPPED, ("string[?,4]",), ["string[1, new:count]"]),
    (STOPPED, ("string[4]",), ["string[new:count]"]),
    (StringNormalizer(), ("string[0]",), ["string[new:count]"]),
    (StringSplit(), ("string[2,N]",), ["string[2, N, new:count]", "int64[2, N]"]),
    (StringSplit(",", 2), ("string[...]",), ["string[...]", "int64[...]"]),
    (RegexFullMatch("a+"), ("string[2,N]",), ["bool[2, N]"]),
    (COUNTS, ("int32[12]",), ["float32[4]"]),
    (COUNTS, ("int64[N,?]",), ["float32[N, 4]"]),
    (COUNTS, ("?[...]",), ["float32[...]"]),
)

BAD = (
    (StringConcat(), ("string[2]", "int64[2]"), "Y is int64"),
    (StringConcat(), ("string[2]", "string[3]"), "do not broadcast"),
    (StringNormalizer(), ("string[2,3]",), "expected .C. or .1, C."),
    (StringNormalizer(), ("string[]",), "expected .C. or .1, C."),
    (StringSplit(), ("float32[2]",), "X is float32"),
    (RegexFullMatch("a"), ("float32[2]",), "X is float32"),
    (COUNTS, ("float32[2]",), "X is float32"),
    (COUNTS, ("int64[2,2,2]",), "expected .C. or .N, C."),
    (late(TfIdfVectorizer, TfIdfMode.TF, 1, 1, 0, (0,), (0,)), ("int64[2]",), "not both"),
)

BACKWARD = (
    (StringConcat(), ("?[2]", "?[...]"), ("string[2]",), ["string[2]", "string[...]"]),
    (StringSplit(), ("?[...]",), ("string[2,?]", "int64[2]"), ["string[2]"]),
    (RegexFullMatch("a"), ("?[...]",), ("bool[2]",), ["string[2]"]),
    (COUNTS, ("?[...]",), ("float32[N,4]",), ["?[N, ?]"]),
)
test_results = good(GOOD)
test_refused = bad(BAD)
test_operands = backward(BACKWARD)
