"""What a model needs of memory, as text and as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphir.analysis.memory.program import Phase, TensorKind

from .text import plural, table, wrapped

if TYPE_CHECKING:
    from graphir.analysis.memory.recompute.problem import Found
    from graphir.memory_use import MemoryReport

SHOWN = 20
_MIB = 1 << 20


def mib(nbytes: int) -> str:
    """Return bytes for people, in powers of two, as MXNet counts its MB.

    >>> mib(512), mib(3 << 20), mib(123_456)
    ('512 B', '3.0 MiB', '120.6 KiB')
    """
    if nbytes < 1024:
        return f"{nbytes} B"
    return f"{nbytes / 1024:.1f} KiB" if nbytes < _MIB else f"{nbytes / _MIB:,.1f} MiB"


def memory_text(report: MemoryReport, line: str, *, verbose: bool) -> str:
    """Return the totals, the plan if there is one, and the largest tensors at the peak, with `verbose` all of them."""
    lines = [line, "", *_total_lines(_totals(report))]
    if report.found is not None:
        lines += ["", *_plan_lines(report.found, report.wanted.budget, verbose)]
    if report.liveness.live:
        lines += ["", *_peak_lines(report, verbose)]
    return "\n".join(lines)


def _total_lines(rows: list[tuple[str, str, str]]) -> list[str]:
    """Names, sizes and what they are, long explanations wrapped."""
    columns = [max(len(row[column]) for row in rows) for column in range(2)]
    begins = [f"  {name:{columns[0]}}  {size:{columns[1]}}  " for name, size, _ in rows]
    return [wrapped(row[2], first=begin, rest=" " * len(begin)) for begin, row in zip(begins, rows, strict=True)]


def _totals(report: MemoryReport) -> list[tuple[str, str, str]]:
    program = report.program
    rows = [("peak", mib(report.peak), "the most bytes of results alive at one time")]
    if report.wanted.training:
        rows[0] = ("peak", mib(report.peak), "the most bytes of activations and gradients alive at one time")
    is_mxnet = report.wanted.training or report.wanted.mxnet
    what = "of MXNet's static plan" if is_mxnet else "if blocks are shared as MXNet shares them"
    rows.append(("allocated", mib(report.total), f"{what}, {plural(len(report.blocks.sizes), 'block')}"))
    rows.append(("parameters", mib(program.bytes_of(TensorKind.PARAMETER)), "allocated throughout"))
    rows.append(("inputs", mib(program.bytes_of(TensorKind.INPUT)), "allocated by the caller"))
    if report.wanted.training:
        rows.append(("gradients", mib(program.bytes_of(TensorKind.RETURNED)), "of arguments, allocated by the caller"))
    if report.wanted.mxnet:
        rows.append(("counted", "4 bytes", "per element of every dtype, as MXNet counts"))
    return rows


def _peak_lines(report: MemoryReport, verbose: bool) -> list[str]:
    program, step = report.program, report.liveness.peak_step
    at = program.steps[step]
    alive = report.at_peak
    shown = alive if verbose else alive[:SHOWN]
    rows = [
        (
            program.tensors[tensor.tensor].name,
            mib(tensor.nbytes),
            f"{100 * tensor.nbytes / max(1, report.peak):.0f}%",
            _type(program.tensors[tensor.tensor].dtype, program.tensors[tensor.tensor].shape),
            program.steps[tensor.made].operator,
            program.steps[tensor.last].name,
        )
        for tensor in shown
    ]
    rest = sum(tensor.nbytes for tensor in alive[len(shown) :])
    title = f"At the peak, step {step + 1:,} of {len(program.steps):,}, {at.name} ({at.operator}, {at.phase}):"
    header = ("tensor", "bytes", "", "type", "made by", "read last by")
    lines = [_line(title), table(header, rows, right=(1, 2), flexible=(0, 3, 4, 5))]
    if rest:
        lines.append(f"  and {plural(len(alive) - len(shown), 'tensor')} of {mib(rest)} (-v shows all)")
    return lines


def _line(text: str) -> str:
    return wrapped(text, first="", rest="  ")


def _type(dtype: str, shape: tuple[int, ...]) -> str:
    return f"{dtype} ({', '.join(map(str, shape))})"


def _plan_lines(plan: Found, budget: int | None, verbose: bool) -> list[str]:
    best = plan.best
    lines = [f"Plan: {plural(best.nodes, 'node')} run twice"]
    saved = f"{mib(best.total)} instead of {mib(plan.without.total)}"
    more = f"{100 * best.work / max(1, plan.forward_work):.1f}% of the forward pass is done twice"
    lines.append(_line(f"  allocated {saved}; {more}; {plural(plan.tried, 'plan')} measured"))
    lines.append(_line(f"  {_proof(plan, budget)}"))
    if plan.segments:
        count = len(plan.segments)
        lines.append(f"  {plural(count, 'segment')} for torch.utils.checkpoint, first to last node:")
        shown = plan.segments if verbose else plan.segments[:SHOWN]
        lines += [_line(f"    {segment[0]} .. {segment[-1]} ({plural(len(segment), 'node')})") for segment in shown]
        if len(shown) < count:
            lines.append(f"    and {count - len(shown):,} more (-v shows all)")
    return lines


def _proof(plan: Found, budget: int | None) -> str:
    """Return the proved bound on the plan, in the model that docs/memory.md describes."""
    if budget is not None and not plan.best.nodes:
        return "the model fits the budget; nothing needs to run twice"
    reached = plan.best.total if budget is None else plan.best.work
    if plan.bound is not None and reached < plan.bound:
        return (
            "no bound was proved: the plan is the best of those measured, and better than any choice of the model of "
            "docs/memory.md, which counts more memory than the plan takes"
        )
    if plan.bound is None:
        return "no bound was proved: the plan is the best of those measured"
    if budget is None:
        best = f"in the model the best choice found peaks at {mib(plan.model.peak)}"
        return (
            f"{best}, the proved optimum"
            if plan.is_optimal
            else (f"{best}, and none peaks below {mib(int(plan.bound))} (gap {_gap(plan.model.peak, plan.bound)})")
        )
    share = 100 * plan.bound / max(1, plan.forward_work)
    least = "in the model, which does not know how blocks are shared, no choice within the budget does less than"
    known = ", and one that does no more is known" if plan.is_optimal else ""
    gap = _gap(plan.best.work, plan.bound)
    return f"{least} {share:.1f}% of the forward pass twice{known} (gap of the plan as measured {gap})"


def _gap(value: float, bound: float) -> str:
    return f"{100 * (value - bound) / max(1.0, value):.0f}%"


def memory_json(report: MemoryReport) -> dict[str, Any]:
    """Return everything as plain data; bytes are numbers."""
    program = report.program
    peak_step = report.liveness.peak_step
    return {
        "training": report.wanted.training,
        "mxnet_count": report.wanted.mxnet,
        "peak": report.peak,
        "allocated": report.total,
        "allocated_mb": report.total >> 20,
        "blocks": len(report.blocks.sizes),
        "parameters": program.bytes_of(TensorKind.PARAMETER),
        "inputs": program.bytes_of(TensorKind.INPUT),
        "returned_gradients": program.bytes_of(TensorKind.RETURNED),
        "steps": len(program.steps),
        "nodes": program.nodes,
        "peak_step": None if peak_step < 0 else {"number": peak_step, "name": program.steps[peak_step].name,
                                            "operator": program.steps[peak_step].operator},
        "at_peak": [
            {
                "tensor": program.tensors[tensor.tensor].name,
                "bytes": tensor.nbytes,
                "dtype": program.tensors[tensor.tensor].dtype,
                "shape": list(program.tensors[tensor.tensor].shape),
                "kind": str(program.tensors[tensor.tensor].kind),
                "made_by": program.steps[tensor.made].name,
                "operator": program.steps[tensor.made].operator,
                "last_read_by": program.steps[tensor.last].name,
            }
            for tensor in report.at_peak
        ],
        "live": list(report.liveness.live),
        "recomputed": [step.name for step in program.steps if step.phase is Phase.RECOMPUTED],
        "plan": None if report.found is None else _plan_json(report.found),
    }  # fmt: skip


def _plan_json(plan: Found) -> dict[str, Any]:
    return {
        "allocated": plan.best.total,
        "allocated_without": plan.without.total,
        "nodes_twice": plan.best.nodes,
        "work_twice": plan.best.work,
        "forward_work": plan.forward_work,
        "model_peak": plan.model.peak,
        "model_work": plan.model.work,
        "bound": plan.bound,
        "model_optimal": plan.is_optimal,
        "plans_measured": plan.tried,
        "segments": [list(segment) for segment in plan.segments],
    }
