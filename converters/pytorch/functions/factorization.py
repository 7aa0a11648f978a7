"""Factors of matrices with their signs fixed, and NaN where torch raises an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import math

    import torch
    from torch import Tensor


def cholesky(x: Tensor, lower: bool = True) -> Tensor:
    """Return triangular factors, NaN of what is not positive definite."""
    factor: Tensor
    factor, info = torch.linalg.cholesky_ex(x if lower else x.mT)
    factor = factor.masked_fill((info != 0)[..., None, None], math.nan).tril()
    return factor if lower else factor.mT


def solve(a: Tensor, b: Tensor) -> Tensor:
    """Return x of a @ x = b, NaN for a singular matrix."""
    x: Tensor
    x, info = torch.linalg.solve_ex(a, b)
    return x.masked_fill((info != 0)[..., None, None], math.nan)


def positive_rows(rows: Tensor) -> Tensor:
    """Return the signs that make the largest component of each row positive."""
    largest = rows.abs().argmax(-1, keepdim=True)
    return rows.gather(-1, largest).sign()


def symmetric_eigen(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the eigenvectors as rows, and the eigenvalues in ascending order."""
    values, vectors = torch.linalg.eigh(x)
    return vectors.mT * positive_rows(vectors.mT), values


def svd(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the singular vectors and values in descending order."""
    u, s, v = torch.linalg.svd(x, full_matrices=False)
    sign = positive_rows(v)
    return u * sign.mT, s, v * sign
