"""Random symbols from the command line: `python -m tests.fuzz.symbols --cases 20000`.

Prints a table of outcomes and, for each operator and cause that is no success, one case with the number that draws it
again (`--only NUMBER`).
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

from tests.fuzz.symbols.draw import draw
from tests.fuzz.symbols.judge import Kind, LiveMXNet, verdict

ROADS = ("onnx", "reference", "torch")


def main() -> int:
    """Run the cases; 1 if any road gave wrong numbers or crashed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ops", default="", help="a regular expression of operators")
    parser.add_argument("--only", type=int, help="the number of one case")
    parser.add_argument("--torch", action="store_true", help="also as PyTorch modules")
    parser.add_argument("--log", type=Path, help="a file that gets every finding as a line of JSON")
    arguments = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    findings: dict[tuple[str, str, str, str], list[int]] = {}
    shown: dict[tuple[str, str, str, str], str] = {}
    first, count = (arguments.first, arguments.cases) if arguments.only is None else (arguments.only, 1)
    numbers = range(first, first + count)
    accepted = 0
    with LiveMXNet() as live:
        for index in numbers:
            drawn = draw(arguments.seed, index, arguments.ops)
            if arguments.log:
                arguments.log.with_suffix(".last").write_text(f"{index} {drawn}\n", encoding="ascii")
            result = verdict(live, drawn, torch=arguments.torch)
            accepted += result.runs
            for road, outcome in zip(ROADS, (result.onnx, result.reference, result.torch), strict=True):
                kind = outcome.kind if result.runs or outcome.kind is Kind.CRASH else Kind.UNJUDGED
                counts[road, kind] += 1
                if kind not in (Kind.EQUAL, Kind.UNJUDGED):
                    key = (road, kind, drawn.case.op, outcome.cause)
                    findings.setdefault(key, []).append(index)
                    shown.setdefault(key, f"{drawn}\n      {outcome.text[-700:]}")
    if arguments.log:
        with arguments.log.open("w", encoding="ascii") as stream:
            for row, places in findings.items():
                stream.write(json.dumps([*row, len(places), places[:5], shown[row]]) + "\n")
    for row in sorted(findings, key=lambda row: (row[0], row[1], -len(findings[row]))):
        way, why, op, _ = row
        if why is not Kind.REFUSED or arguments.only is not None:
            print(f"{way} {why} {op} x{len(findings[row])} (case {findings[row][0]}): {shown[row]}")
    print(f"{len(numbers)} cases, MXNet runs {accepted}")
    for road in ROADS:
        print(f"  {road}: " + ", ".join(f"{kind} {counts[road, kind]}" for kind in Kind))
    return int(any(counts[road, kind] for road in ROADS for kind in (Kind.WRONG, Kind.CRASH)))


if __name__ == "__main__":
    raise SystemExit(main())
