"""python -m tests.faults: plant all faults and rewrites, hold them against `graphir.verify`, and say what it misses."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from .effect import judged
from .harmless import ITSELF, REWRITES
from .judge import ERROR, Acquittal, Finding, acquit, hold, own_inputs_miss, plant, self_verdict
from .kinds import FAULTS
from .networks import NETWORKS
from .table import page

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "faults.md"
FEW = 5
"""So few kinds are shown whatever becomes of them."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--network", action="append", choices=NETWORKS, help="only these networks")
    parser.add_argument("--kind", action="append", help="only kinds (of faults and of rewrites) that begin like this")
    parser.add_argument("--seed", type=int, action="append", help="of weights, places and inputs; 0 if none is given")
    parser.add_argument("--quiet", action="store_true", help="what was found and not named is counted, not shown")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    return parser.parse_args()


def main() -> int:
    chosen = arguments()
    faults, rewrites = (
        [kind for kind in kinds if not chosen.kind or any(kind.startswith(text) for text in chosen.kind)]
        for kinds in (FAULTS, REWRITES)
    )
    seeds, loud = chosen.seed or [0], len(faults) + len(rewrites) <= FEW
    findings: list[Finding] = []
    acquittals: list[Acquittal] = []
    started = time.perf_counter()
    for seed in seeds:
        for name in chosen.network or NETWORKS:
            if self_verdict(judged(NETWORKS[name], seed)) == ERROR:
                print(
                    f"{name} cannot even be compared with itself: {acquit(NETWORKS[name], REWRITES[ITSELF], seed)}",
                    flush=True,
                )  # fmt: skip
            for finding in _findings(name, faults, seed):
                findings.append(finding)
                _show(finding, loud=loud, quiet=chosen.quiet)
            for acquittal in _acquittals(name, rewrites, seed):
                acquittals.append(acquittal)
                _show_rewrite(acquittal, loud=loud)
    missed, unnamed = sum(found.missed for found in findings), sum(found.unnamed for found in findings)
    blamed = sum(found.blamed for found in acquittals)
    print(
        f"{len(findings)} faults planted, {sum(found.counts for found in findings)} with an effect, {missed} missed, "
        f"{unnamed} found and not named; {len(acquittals)} harmless rewrites, {blamed} blamed; "
        f"{time.perf_counter() - started:.0f} s"
    )
    if chosen.write:
        PAGE.write_text(page(findings, acquittals, seeds), encoding="utf-8")
    return 1 if missed or unnamed or blamed else 0


def _findings(network: str, kinds: list[str], seed: int) -> Iterator[Finding]:
    for kind in kinds:
        planted = plant(NETWORKS[network], FAULTS[kind], seed)
        if planted is not None:
            yield hold(judged(NETWORKS[network], seed), planted)


def _acquittals(network: str, kinds: list[str], seed: int) -> Iterator[Acquittal]:
    for kind in kinds:
        found = acquit(NETWORKS[network], REWRITES[kind], seed)
        if found is not None:
            yield found


def _show(finding: Finding, *, loud: bool, quiet: bool) -> None:
    planted, effect = finding.planted, finding.planted.effect
    if not (loud or finding.missed or (finding.unnamed and not quiet)) or (finding.verdict == ERROR and finding.missed):
        return
    word = "MISSED" if finding.missed else "UNNAMED" if finding.unnamed else "fine"
    if finding.missed and not planted.random:
        base = judged(NETWORKS[planted.network], planted.seed)
        word += " (inputs)" if own_inputs_miss(base, planted) else " (grading)"
    print(
        f"{word} {planted.network} | {planted.kind} | at {', '.join(planted.where)} | effect {effect.change:.2g} "
        f"(floor {effect.floor:.1g}) in {effect.sets} sets {effect.fails} | verify: {finding.verdict}; {finding.said}\n"
        f"    {finding.command}",
        flush=True,
    )


def _show_rewrite(found: Acquittal, *, loud: bool) -> None:
    if loud or found.blamed or found.said:
        word = "BLAMED" if found.blamed else "fine"
        print(
            f"{word} {found.network} | {found.kind} | verify: {found.verdict}; {found.said}\n    {found.command}",
            flush=True,
        )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
