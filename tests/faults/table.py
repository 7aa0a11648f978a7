"""The findings as a page of docs."""

from __future__ import annotations

from collections.abc import Sequence

from .effect import FACTOR, LEAST, SCENES
from .harmless import REWRITES
from .judge import Acquittal, Finding
from .kinds import FAMILIES
from .known import GAPS
from .networks import NETWORKS

HEAD = """# Planted faults and harmless rewrites

Made by `python -m tests.faults --write`; do not edit. Every kind of fault is planted in every network where it
applies, at a place drawn from a seed, and `graphir verify` compares the two files with nothing but its defaults. In
half of them every name inside the candidate is another one, and half of these were written by onnxruntime's offline
optimiser. What a fault really changes is measured without graphir: both files in onnxruntime without optimisations on
{scenes} sets of inputs (batches of 1 to 9, widths from 0.2 to 50 times the usual), output by output and slice by slice.
It has an **effect** where that is more than {factor} times what a last place of the inputs and optimisations change and
more than {least:g} of the slice's magnitude (of whole numbers: 2 % of them), or where the candidate does not run. Some
kinds are *silent*: what they change is less, or shows only beyond all numbers that a network is fed with. Their effect
is any other number, up to a million times the usual width.

It is **found** if the verdict is *broken* (*not proven* and *not deterministic* where the fault draws
numbers), if it is *not proven* and the sentence that says why names the place (what inputs never reached), or if
verify says that the candidate does not run, and **named** if a cause, or one of at most eight lines of
what `diff` finds, names the node, its weights or results, or a node beside it. A harmless rewrite is **blamed** if its
verdict is anything but *identical* or *equal within rounding* (or what the network itself gets, which counts as blamed
once).
"""


def page(findings: Sequence[Finding], acquittals: Sequence[Acquittal], seeds: Sequence[int]) -> str:
    """The page: totals, networks, kinds of faults, rewrites."""
    parts = [
        HEAD.format(scenes=len(SCENES), factor=FACTOR, least=LEAST),
        f"Seeds: {', '.join(map(str, seeds))}.\n",
        "## Totals\n",
        *_totals(findings, acquittals),
        "\n## Networks\n",
        *_networks(findings, acquittals),
        *_kinds(findings),
        "\n## Harmless rewrites\n",
        *_rewrites(acquittals),
        *_missed(findings, acquittals),
    ]
    return "\n".join(parts) + "\n"


def _totals(findings: Sequence[Finding], acquittals: Sequence[Acquittal]) -> list[str]:
    counted = [found for found in findings if found.counts]
    return [
        "| | |",
        "|---|---|",
        f"| kinds of faults, planted | {len({found.planted.kind for found in findings})}, {len(findings)} |",
        f"| with an effect | {len(counted)} |",
        f"| found | {sum(found.found for found in counted)} |",
        f"| found and named | {sum(found.found and found.named for found in counted)} |",
        f"| kinds of rewrites, made | {len({found.kind for found in acquittals})}, {len(acquittals)} |",
        f"| blamed | {sum(found.blamed for found in acquittals)} |",
    ]


def _row(label: str, findings: Sequence[Finding]) -> str:
    counted = [found for found in findings if found.counts]
    found, named = sum(held.found for held in counted), sum(held.found and held.named for held in counted)
    return f"| {label} | {len(findings)} | {len(counted)} | {found} | {named} |"


def _networks(findings: Sequence[Finding], acquittals: Sequence[Acquittal]) -> list[str]:
    lines = [
        "| network | planted | with an effect | found | named | rewrites | blamed |", "|---|---|---|---|---|---|---|"
    ]
    for network in NETWORKS.values():
        own = [found for found in findings if found.planted.network == network.name]
        right = [found for found in acquittals if found.network == network.name]
        label = f"`{network.name}`: {network.family}"
        lines.append(f"{_row(label, own)} {len(right)} | {sum(found.blamed for found in right)} |")
    return lines


def _kinds(findings: Sequence[Finding]) -> list[str]:
    lines: list[str] = []
    for family, faults in FAMILIES.items():
        lines += [
            f"\n## Faults: {family}\n", "| kind | planted | with an effect | found | named |", "|---|---|---|---|---|"
        ]
        for fault in faults:
            lines.append(_row(fault.name, [found for found in findings if found.planted.kind == fault.name]))
    return lines


def _rewrites(acquittals: Sequence[Acquittal]) -> list[str]:
    lines = ["| rewrite | networks | identical or equal | blamed |", "|---|---|---|---|"]
    for name in REWRITES:
        own = [found for found in acquittals if found.kind == name]
        blamed = sum(found.blamed for found in own)
        lines.append(f"| {name} | {len(own)} | {len(own) - blamed} | {blamed} |")
    return lines


def _missed(findings: Sequence[Finding], acquittals: Sequence[Acquittal]) -> list[str]:
    """What is not as it should be, each with the command that repeats it; nothing if there is none."""
    lines = [f"- missed: `{found.command}`{_known(found)}" for found in findings if found.missed]
    lines += [f"- found, not named: `{found.command}`{_known(found)}" for found in findings if found.unnamed]
    lines += [f"- blamed: `{found.command}`{_known(found)}" for found in acquittals if found.blamed]
    lines += [f"- not harmless: `{found.command}`" for found in acquittals if found.harms]
    return ["\n## Not as it should be\n", *lines] if lines else []


def _known(found: Finding | Acquittal) -> str:
    return f": {GAPS[found.place]}" if found.is_known else ""


__all__ = ["page"]
