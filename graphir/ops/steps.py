"""The functions that count steps where an operator's are not so many for each element; see `work`.

Each takes the operator, the types of its operands and those of its results.
"""

from __future__ import annotations

from typing import Any

from graphir.types import UNKNOWN, Dim, product

from .work import Operands, Results, elements, is_given


def of_bias(op: Any, operands: Operands, results: Results) -> Dim:
    """Return the sum with a bias in slot 2."""
    return results[0].elements() if is_given(operands, 2) else 0


def of_deformed(op: Any, operands: Operands, results: Results) -> Dim:
    """For each sample between elements 2^axes products with sums, one more with a mask, and the bias."""
    x, offset = operands[0], operands[2]
    if x is None or offset is None or x.shape is None:
        return UNKNOWN
    axes: int = len(x.shape) - 2
    groups: int = op.offset_group
    samples: Dim = offset.elements() // axes * (x.shape[1] // groups)
    bias: Dim = results[0].elements() if is_given(operands, 3) else 0
    each: int = 2 * 2**axes - 1
    return samples * (each + is_given(operands, 4)) + bias


def of_attention(op: Any, operands: Operands, results: Results) -> Dim:
    """For each score its scale and softmax (5), and the sum with a mask."""
    query, key, value = operands[:3]
    if query is None or key is None or value is None:
        return UNKNOWN
    scores: Dim = op.scores(operands)
    return scores * (6 + is_given(operands, 3))


def of_linear_attention(op: Any, operands: Operands, results: Results) -> Dim:
    """Return the scale of each query, the decay of each state and the correction of each value."""
    query, value = operands[0], operands[2]
    if query is None or value is None or len(results) < 2 or results[1].shape is None or query.shape is None:
        return UNKNOWN
    states = query.shape[1] * product(results[1].shape) if "gated" in op.update_rule.value else 0
    corrected = value.elements() * 2 if "delta" in op.update_rule.value else 0
    return query.elements() + states + corrected


def of_causal(op: Any, operands: Operands, results: Results) -> Dim:
    """Return the sum with a bias, and the activation."""
    activates: bool = op.activation.value != "none"
    return results[0].elements() * (is_given(operands, 2) + activates)


def of_joined(op: Any, operands: Operands, results: Results) -> Dim:
    """Return one for each operand behind the first, and the quotient of a mean."""
    given = sum(operand is not None for operand in operands)
    is_mean: bool = op.name == "Mean"
    return results[0].elements() * (given - 1 + is_mean)


def of_roi_align(op: Any, operands: Operands, results: Results) -> Dim:
    """For each sample four products, three sums and one more into its cell; with ratio 0 the boxes decide how many."""
    ratio: int = op.sampling_ratio
    return UNKNOWN if ratio == 0 else results[0].elements() * ratio * ratio * 8


def of_scatter(op: Any, operands: Operands, results: Results) -> Dim:
    """Return one for each update, where it does not replace what it meets."""
    return 0 if op.reduction.value == "none" else elements(operands, 2)


def of_gemm(op: Any, operands: Operands, results: Results) -> Dim:
    """Return the sum with C, and the factors that are not 1."""
    added = is_given(operands, 2)
    factors: int = (added and op.beta != 1) + (op.alpha != 1)
    return results[0].elements() * (added + factors)


def of_zero_points(op: Any, operands: Operands, results: Results) -> Dim:
    """Return one for each element that a zero point is subtracted from."""
    slots = [slot for slot in (0, 1) if is_given(operands, slot + 2)]
    steps: Dim = 0
    for slot in slots:
        steps = steps + elements(operands, slot)
    return steps


def of_einsum(op: Any, operands: Operands, results: Results) -> Dim:
    """Return the sums of one operand that loses labels; of several operands all are multiply-accumulates."""
    terms, result = op.terms()
    return elements(operands, 0) if len(terms) == 1 and set(terms[0]) != set(result) else 0


def of_determinant(op: Any, operands: Operands, results: Results) -> Dim:
    """Return the factors of n (n - 1) / 2 rows, and the product of the diagonal."""
    x = operands[0]
    if x is None or not x.shape:
        return UNKNOWN
    size = x.shape[-1]
    return product(x.shape[:-2]) * (size * (size - 1) // 2 + size - 1)


def of_labels(op: Any, operands: Operands, results: Results) -> Dim:
    """Return the weight of each label, and the sum."""
    return elements(operands, 1) * 2


def of_cross_entropy(op: Any, operands: Operands, results: Results) -> Dim:
    """Return the softmax of each score (5), the weight of each label, and the sum."""
    return elements(operands, 0) * 5 + elements(operands, 1) * 2


def of_lrn(op: Any, operands: Operands, results: Results) -> Dim:
    """Return a square, `size` - 1 sums, a product, a sum, a power and a quotient."""
    size: int = op.size
    return results[0].elements() * (size + 4)


def of_largest(op: Any, operands: Operands, results: Results) -> Dim:
    """Return one comparison less than a window has elements."""
    return results[0].elements() * (product(op.kernel_shape) - 1)


def of_average(op: Any, operands: Operands, results: Results) -> Dim:
    """Return the sums of a window, and the quotient."""
    return results[0].elements() * product(op.kernel_shape)


def of_norm(op: Any, operands: Operands, results: Results) -> Dim:
    """Return the powers and sums of a window, and the root."""
    return results[0].elements() * product(op.kernel_shape) * 2


def of_cell(op: Any, operands: Operands, results: Results) -> Dim:
    """Return what a recurrent cell does with the products of its gates; see `_Recurrent.cell_steps`."""
    steps: Dim = op.cell_steps(operands, results)
    return steps


def of_resize(op: Any, operands: Operands, results: Results) -> Dim:
    """None for nearest neighbours; else for each element a product and a sum for each of its 2 or 4 samples on each
    axis that changes. With `antialias` the sizes decide how many samples there are."""
    x = operands[0]
    if op.mode.value == "nearest":
        return 0
    if op.antialias or x is None or x.shape is None or results[0].shape is None:
        return UNKNOWN
    changed = sum(before != after for before, after in zip(x.shape, results[0].shape, strict=True))
    samples: int = (2 if op.mode.value == "linear" else 4) ** changed
    return results[0].elements() * (2 * samples - 1) if changed else 0


def of_grid(op: Any, operands: Operands, results: Results) -> Dim:
    """As `of_resize`, over all spatial axes."""
    x = operands[0]
    if op.mode.value == "nearest":
        return 0
    if x is None or x.shape is None:
        return UNKNOWN
    samples: int = (2 if op.mode.value == "linear" else 4) ** (len(x.shape) - 2)
    return results[0].elements() * (2 * samples - 1)


def of_spectra(count: Dim, size: Dim) -> Dim:
    """Return the usual count of a fast transform of n complex elements, `5 n log2(n)`, the logarithm rounded up.

    >>> of_spectra(3, 8)
    360
    """
    return count * 5 * size * (size - 1).bit_length() if isinstance(size, int) else UNKNOWN


def of_dft(op: Any, operands: Operands, results: Results) -> Dim:
    """Return a fast transform for each row. The axis has one of two sizes where it is halved: the longer one counts."""
    x, result = operands[0], results[0]
    if x is None or x.shape is None or result.shape is None or len(x.shape) != len(result.shape):
        return UNKNOWN
    changed = [axis for axis in range(len(x.shape) - 1) if x.shape[axis] != result.shape[axis]]
    if len(changed) > 1 or (not changed and len(x.shape) != 3):
        return UNKNOWN
    axis = changed[0] if changed else 1
    sizes = [size for size in (x.shape[axis], result.shape[axis]) if isinstance(size, int)]
    rows = [size for index, size in enumerate(x.shape[:-1]) if index != axis]
    return of_spectra(product(rows), max(sizes)) if len(sizes) == 2 else UNKNOWN


def of_stft(op: Any, operands: Operands, results: Results) -> Dim:
    """For each window its weights' products and a fast transform."""
    window, shape = operands[2] if len(operands) > 2 else None, results[0].shape
    if shape is None or len(shape) != 4:
        return UNKNOWN
    size: Dim = window.shape[0] if window is not None and window.shape else UNKNOWN
    if not isinstance(size, int):
        size = (shape[2] - 1) * 2 if op.onesided else shape[2]
    windows = shape[0] * shape[1]
    return of_spectra(windows, size) + windows * size * is_given(operands, 2)
