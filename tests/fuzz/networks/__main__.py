"""Random networks from the command line: `python -m tests.fuzz.networks --cases 20000`.

Prints a table of outcomes, the causes of refusals with their counts and, for each cause that is a fault, one network
with the number that draws it again (`--only NUMBER`).
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

from tests.fuzz.networks.draw import draw
from tests.fuzz.networks.judge import ROADS, LiveNetworks, verdict
from tests.fuzz.symbols.judge import Kind

FAULTS = (Kind.WRONG, Kind.CRASH, Kind.STOPPED, Kind.NO_KERNEL)


def main() -> int:
    """Run the networks; 1 if any road gave wrong numbers or crashed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="the number of one network")
    parser.add_argument("--torch", action="store_true", help="also as PyTorch modules")
    parser.add_argument("--log", type=Path, help="a file that gets every finding as a line of JSON")
    arguments = parser.parse_args()
    counts: Counter[tuple[str, Kind]] = Counter()
    causes: Counter[tuple[str, Kind, str]] = Counter()
    shown: dict[tuple[str, Kind, str], str] = {}
    first, count = (arguments.first, arguments.cases) if arguments.only is None else (arguments.only, 1)
    accepted = 0
    with LiveNetworks() as live:
        for index in range(first, first + count):
            drawn = draw(arguments.seed, index)
            if arguments.log:
                arguments.log.with_suffix(".last").write_text(f"{index}\n{drawn}\n", encoding="ascii")
            found = verdict(live, drawn, torch=arguments.torch)
            accepted += found.runs
            for road, outcome in found.roads.items():
                kind = outcome.kind if found.runs or outcome.kind is Kind.CRASH else Kind.UNJUDGED
                counts[road, kind] += 1
                if kind not in (Kind.EQUAL, Kind.UNJUDGED):
                    row = (road, kind, outcome.cause)
                    causes[row] += 1
                    shown.setdefault(row, f"network {index}:\n      {drawn}\n    {outcome.text[-700:]}")
    if arguments.log:
        lines = [json.dumps([*row, causes[row], shown[row]]) for row, _ in causes.most_common()]
        arguments.log.write_text("\n".join(lines) + "\n", encoding="ascii")
    for found_row, number in causes.most_common():
        road, kind, cause = found_row
        print(f"{road} {kind} x{number}: {cause if kind not in FAULTS else shown[found_row]}")
    print(f"{count} networks, MXNet runs {accepted}")
    for road in ROADS:
        print(f"  {road}: " + ", ".join(f"{kind} {counts[road, kind]}" for kind in Kind))
    return int(any(counts[road, kind] for road in ROADS for kind in (Kind.WRONG, Kind.CRASH)))


if __name__ == "__main__":
    raise SystemExit(main())
