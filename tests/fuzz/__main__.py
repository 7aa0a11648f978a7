"""The fuzzer's command; the package's docstring says how it is used."""

from __future__ import annotations

import argparse
import itertools
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.fuzz.case import make_case
from tests.fuzz.driver import Tally, fuzz
from tests.fuzz.formats import FORMATS
from tests.fuzz.worker import Outcome, write_model


def main() -> int:
    """Exit status 1 if there was a finding."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Fuzz graphir's readers.")
    parser.add_argument("formats", nargs="*", choices=[[], *FORMATS], help=f"of {', '.join(FORMATS)}; default all")
    parser.add_argument("--cases", type=int, default=1000, help="how many of each format")
    parser.add_argument("--first", type=int, default=0, help="the number of the first one")
    parser.add_argument("--seconds", type=float, help="for each format, instead of a number of cases")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="formats at a time")
    parser.add_argument("--case", type=int, help="this one alone")
    parser.add_argument("--keep", type=Path, help="a folder for the files of --case")
    options = parser.parse_args()
    if options.case is not None:
        return _one(options)

    def run(format: str) -> Tally:
        numbers = itertools.count(options.first)
        if options.seconds is None:
            numbers = itertools.islice(numbers, options.cases)  # type: ignore[assignment]
        return fuzz(format, options.seed, numbers, seconds=options.seconds, tell=lambda found: _tell(format, found))

    with ThreadPoolExecutor(options.jobs) as pool:
        tallies = list(pool.map(run, options.formats or FORMATS))
    print("\n".join(map(str, tallies)))
    return 1 if any(tally.findings for tally in tallies) else 0


def _one(options: argparse.Namespace) -> int:
    (name,) = options.formats
    case = make_case(FORMATS[name], options.seed, options.case)
    if options.keep is not None:
        write_model(case.model, options.keep)
    tally = fuzz(name, options.seed, [options.case])
    print(f"{case.model.entry} to {case.target}, options {dict(case.model.options)}\n{tally}")
    for outcomes in tally.findings.values():
        print(outcomes[0].text)
    return 1 if tally.findings else 0


def _tell(format: str, found: Outcome) -> None:
    print(f"{format} case {found.number}: {found.finding}: {found.where}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
