"""Recurrent layers that are no module of torch, as loops over their steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    import torch.nn.functional as F
    from torch import Tensor


def run_cell(
    cell: Callable[..., tuple[Tensor, ...]],
    x: Tensor,
    states: tuple[Tensor, ...],
    lengths: Tensor | None,
    reverse: bool,
) -> tuple[Tensor, ...]:
    """Run a cell over the steps of x; return its rows and the last states.

    Behind the length of a sequence rows are zero and states stay.
    """
    rows = x.new_zeros(len(x), *states[0].shape)
    steps = range(len(x))
    for t in reversed(steps) if reverse else steps:
        after = cell(x[t], *states)
        if lengths is None:
            rows[t] = after[0]
            states = after
            continue
        inside = (t < lengths).unsqueeze(1)
        rows[t] = torch.where(inside, after[0], 0)
        pairs = zip(after, states, strict=True)
        states = tuple(torch.where(inside, new, old) for new, old in pairs)
    if lengths is not None:
        begun = (lengths > 0).unsqueeze(1)
        states = tuple(torch.where(begun, state, 0) for state in states)
    return rows, *states


def rnn(
    x: Tensor,
    weight: Tensor,
    recurrent: Tensor,
    bias: Tensor | None,
    h: Tensor,
    activation: Callable[[Tensor], Tensor],
    lengths: Tensor | None = None,
    clip: float = math.inf,
    reverse: bool = False,
) -> tuple[Tensor, ...]:
    """Return the rows and the last state of a recurrent layer."""
    bias_x, bias_h = (None, None) if bias is None else bias.chunk(2)

    def cell(x: Tensor, h: Tensor) -> tuple[Tensor, ...]:
        total = F.linear(x, weight, bias_x) + F.linear(h, recurrent, bias_h)
        return (activation(total.clamp(-clip, clip)),)

    return run_cell(cell, x, (h,), lengths, reverse)


def gru(
    x: Tensor,
    weight: Tensor,
    recurrent: Tensor,
    bias: Tensor | None,
    h: Tensor,
    activations: tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]],
    lengths: Tensor | None = None,
    clip: float = math.inf,
    late: bool = False,
    reverse: bool = False,
) -> tuple[Tensor, ...]:
    """Return the rows and the last state of a GRU with the gates update, reset, new.

    A late reset gate multiplies the product with the state, not the state itself.
    """
    gate, squash = activations
    bias_x, bias_h = (None, None) if bias is None else bias.chunk(2)
    w_z, w_r, w_n = recurrent.chunk(3)
    b_z, b_r, b_n = (None,) * 3 if bias_h is None else bias_h.chunk(3)

    def cell(x: Tensor, h: Tensor) -> tuple[Tensor, ...]:
        z, r, n = F.linear(x, weight, bias_x).chunk(3, dim=1)
        z = gate((z + F.linear(h, w_z, b_z)).clamp(-clip, clip))
        r = gate((r + F.linear(h, w_r, b_r)).clamp(-clip, clip))
        inner = r * F.linear(h, w_n, b_n) if late else F.linear(r * h, w_n, b_n)
        n = squash((n + inner).clamp(-clip, clip))
        return ((1 - z) * n + z * h,)

    return run_cell(cell, x, (h,), lengths, reverse)


def lstm(
    x: Tensor,
    weight: Tensor,
    recurrent: Tensor,
    bias: Tensor | None,
    states: tuple[Tensor, Tensor],
    activations: tuple[Callable[[Tensor], Tensor], ...],
    lengths: Tensor | None = None,
    peepholes: Tensor | None = None,
    clip: float = math.inf,
    input_forget: bool = False,
    reverse: bool = False,
) -> tuple[Tensor, ...]:
    """Return the rows, the last state and the last cell of an LSTM.

    The gates are input, output, forget, cell; the peepholes input, output, forget.
    """
    gate, squash, shape = activations
    bias_x, bias_h = (None, None) if bias is None else bias.chunk(2)

    def cell(x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, ...]:
        total = F.linear(x, weight, bias_x) + F.linear(h, recurrent, bias_h)
        i, o, f, g = total.chunk(4, dim=1)
        if peepholes is not None:
            p_i, p_o, p_f = peepholes.chunk(3)
            i, f = i + p_i * c, f + p_f * c
        i = gate(i.clamp(-clip, clip))
        f = 1 - i if input_forget else gate(f.clamp(-clip, clip))
        c = f * c + i * squash(g.clamp(-clip, clip))
        if peepholes is not None:
            o = o + p_o * c
        return gate(o.clamp(-clip, clip)) * shape(c), c

    return run_cell(cell, x, states, lengths, reverse)
