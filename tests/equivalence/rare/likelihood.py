"""Cases of likelihoods of sequences."""

from __future__ import annotations

from tests.equivalence.case import Case, Input, case, data, values


def labels(*rows: tuple[float, ...], dtype: str = "float32") -> Input:
    """Rows of labels."""
    flat = [label for row in rows for label in row]
    return values(*flat, shape=(len(rows), len(rows[0])), name="label", dtype=dtype)


def lengths(name: str, *numbers: float) -> Input:
    """Lengths of rows."""
    return values(*numbers, name=name)


LONG = data(6, 2, 5)

CASES: tuple[Case, ...] = (
    case("CTCLoss", "default", LONG, labels((1, 2, 0), (3, 4, 1))),
    case("CTCLoss", "last", LONG, labels((1, 2, -1), (3, 0, 1)), blank_label="last"),
    case("CTCLoss", "repeated", LONG, labels((1, 1, 0), (3, 3, 3))),
    case("CTCLoss", "behind_padding", LONG, labels((1, 0, 2), (0, 0, 0))),
    case("CTCLoss", "impossible", data(3, 2, 4), labels((1, 1, 2), (2, 1, 0))),
    case("CTCLoss", "integers", LONG, labels((1, 2), (3, 4), dtype="int32")),
    case("CTCLoss", "label_lengths", LONG, labels((1, 0, 2), (3, 4, 4)), lengths("label_lengths", 1, 3),
         use_label_lengths=True),
    case("CTCLoss", "data_lengths", LONG, labels((1, 3, 0), (3, 4, 0)), lengths("data_lengths", 4, 2),
         use_data_lengths=True),
    case("CTCLoss", "both_lengths", LONG, labels((1, 3, 2), (3, 4, 4)), lengths("data_lengths", 4, 6),
         lengths("label_lengths", 2, 0), use_data_lengths=True, use_label_lengths=True),
)  # fmt: skip

REFUSED: tuple[Case, ...] = (
    case("CTCLoss", "float64", data(6, 2, 5, dtype="float64"), labels((1, 2), (3, 4), dtype="float64")),
    case("CTCLoss", "too_long", data(2, 2, 5), labels((1, 2, 3), (3, 4, 0))),
)
