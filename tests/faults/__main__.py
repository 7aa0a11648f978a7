"""python -m tests.faults: plant all faults and rewrites, hold them against `graphir.verify`, and say what it misses."""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
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
    parser.add_argument("--jobs", type=int, default=1, help="processes; each takes one network after the other")
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
    started = time.perf_counter()
    rows = [(name, seed) for seed in seeds for name in chosen.network or NETWORKS]
    work = partial(_judge, faults=faults, rewrites=rewrites, loud=loud, quiet=chosen.quiet)
    with ProcessPoolExecutor(chosen.jobs) as pool:
        parts = list(pool.map(work, rows) if chosen.jobs > 1 else map(work, rows))
    findings = [found for part, _ in parts for found in part]
    acquittals = [found for _, part in parts for found in part]
    new = [found for found in findings if not found.is_known]
    missed, unnamed = sum(found.missed for found in new), sum(found.unnamed for found in new)
    blamed = sum(found.blamed for found in acquittals if not found.is_known)
    harmful = sum(found.harms for found in acquittals)
    known = sum(found.missed or found.unnamed for found in findings if found.is_known)
    known += sum(found.blamed for found in acquittals if found.is_known)
    print(
        f"{len(findings)} faults planted, {sum(found.counts for found in findings)} with an effect, {missed} missed, "
        f"{unnamed} found and not named; {len(acquittals)} harmless rewrites, {blamed} blamed, {harmful} not harmless; "
        f"{known} known gaps; "
        f"{time.perf_counter() - started:.0f} s"
    )
    if chosen.write:
        PAGE.write_text(page(findings, acquittals, seeds), encoding="utf-8")
    return 1 if missed or unnamed or blamed or harmful else 0


def _judge(
    row: tuple[str, int], faults: list[str], rewrites: list[str], loud: bool, quiet: bool
) -> tuple[list[Finding], list[Acquittal]]:
    """All of one network with the weights of a seed; what is not as it should be is shown as it is found."""
    network, seed = NETWORKS[row[0]], row[1]
    base = judged(network, seed)
    findings: list[Finding] = []
    acquittals: list[Acquittal] = []
    if self_verdict(base) == ERROR:
        print(f"{network.name} cannot be compared with itself: {acquit(network, REWRITES[ITSELF], seed)}", flush=True)
    for kind in faults:
        planted = plant(network, FAULTS[kind], seed)
        if planted is not None:
            findings.append(hold(base, planted))
            _show(findings[-1], loud=loud, quiet=quiet)
    for kind in rewrites:
        acquittal = acquit(network, REWRITES[kind], seed)
        if acquittal is not None:
            acquittals.append(acquittal)
            _show_rewrite(acquittal, loud=loud)
    return findings, acquittals


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
    if loud or found.blamed or found.harms or found.said:
        word = "NOT HARMLESS" if found.harms else "BLAMED" if found.blamed else "fine"
        print(
            f"{word} {found.network} | {found.kind} | effect {found.effect.change:.2g} | "
            f"verify: {found.verdict}; {found.said}\n"
            f"    {found.command}",
            flush=True,
        )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
