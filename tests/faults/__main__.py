"""python -m tests.faults: plant all faults and rewrites, hold them against `graphir.verify`, and say what it misses."""

from __future__ import annotations

import argparse
import sys
import time

from .effect import judged
from .judge import Finding, hold, own_inputs_miss, plant
from .kinds import FAULTS
from .networks import NETWORKS


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--network", action="append", choices=NETWORKS, help="only these networks")
    parser.add_argument("--kind", action="append", help="only kinds whose name begins like this")
    parser.add_argument("--seed", type=int, default=0, help="of weights, places and inputs")
    parser.add_argument("--quiet", action="store_true", help="what was found and not named is counted, not shown")
    parser.add_argument("--write", action="store_true", help="write docs/faults.md")
    return parser.parse_args()


def main() -> int:
    chosen = arguments()
    kinds = [kind for kind in FAULTS if not chosen.kind or any(kind.startswith(text) for text in chosen.kind)]
    findings: list[Finding] = []
    started = time.perf_counter()
    for name in chosen.network or NETWORKS:
        network = NETWORKS[name]
        for kind in kinds:
            planted = plant(network, FAULTS[kind], chosen.seed)
            if planted is None:
                continue
            findings.append(hold(judged(network, chosen.seed), planted))
            _show(findings[-1], loud=len(kinds) < 5, quiet=chosen.quiet)
    counted = [finding for finding in findings if finding.counts]
    missed = sum(finding.missed for finding in findings)
    unnamed = sum(finding.unnamed for finding in findings)
    print(f"{len(findings)} planted, {len(counted)} with an effect, {missed} missed, {unnamed} found and not named, "
          f"{time.perf_counter() - started:.0f} s")  # fmt: skip
    return 1 if missed or unnamed else 0


def _show(finding: Finding, *, loud: bool, quiet: bool) -> None:
    if not (loud or finding.missed or (finding.unnamed and not quiet)):
        return
    planted, effect = finding.planted, finding.planted.effect
    word = "MISSED" if finding.missed else "UNNAMED" if finding.unnamed else "fine"
    if finding.missed and not planted.random:
        word += " (inputs)" if own_inputs_miss(judged(NETWORKS[planted.network], planted.seed), planted) else " (grading)"
    print(f"{word} {planted.network} | {planted.kind} | at {', '.join(planted.where)} | effect {effect.change:.2g} (floor "
          f"{effect.floor:.1g}) in {effect.sets} sets {effect.fails} | verify: {finding.verdict}; {finding.said}\n"
          f"    {finding.command}", flush=True)  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
