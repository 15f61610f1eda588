"""Canonical correlations and linear CKA between two matrices of states: same rows, any columns."""

from __future__ import annotations

import copy

import numpy as np

# SVCCA keeps the directions that hold this share of the variance (Raghu et al. 2017).
KEPT_VARIANCE = 0.99
# Rows for each column of both sides below which canonical correlations are mostly chance.
ENOUGH_ROWS = 5


def centred(x: np.ndarray) -> np.ndarray:
    """x [n, p] as float64, less the mean of each column."""
    x = x.astype(np.float64)
    return x - x.mean(axis=0)


class Directions:
    """
    The singular directions of a centred matrix x [n, p], largest first, without those that are 0.

    u       orthonormal, [n, rank]
    values  singular values, [rank]
    x       the centred matrix, [n, p]
    """

    def __init__(self, x: np.ndarray) -> None:
        """x: [n, p], not centred."""
        self.x = centred(x)
        u, values, _ = np.linalg.svd(self.x, full_matrices=False)
        # States are float32: what lies below its precision is rounding, not a direction.
        least = values[:1].max(initial=0.0) * max(self.x.shape) * np.finfo(np.float32).eps / 8
        rank = int(np.sum(values > least))
        self.u, self.values = u[:, :rank], values[:rank]

    def reordered(self, order: np.ndarray) -> Directions:
        """The same with the rows in another order, int [n]. The mean and the directions stay."""
        other = copy.copy(self)
        other.x, other.u = self.x[order], self.u[order]
        return other

    def largest(self, share: float = KEPT_VARIANCE) -> np.ndarray:
        """The fewest first directions that hold `share` of the variance, [n, k]. Of no variance none."""
        variance = np.cumsum(self.values**2)
        if len(variance) == 0:
            return self.u
        return self.u[:, : int(np.searchsorted(variance, share * variance[-1])) + 1]


def canonical(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """
    Canonical correlations of two orthonormal bases u [n, p] and v [n, q], largest first: min(p, q) numbers from
    0 to 1. They are the singular values of Sxx^-1/2 Sxy Syy^-1/2 of any centred matrices with these bases.
    """
    if u.shape[1] == 0 or v.shape[1] == 0:
        return np.zeros(0)
    return np.clip(np.linalg.svd(u.T @ v, compute_uv=False), 0.0, 1.0)


def mean_or_none(correlations: np.ndarray) -> float | None:
    """Their mean; None of none."""
    return float(correlations.mean()) if len(correlations) > 0 else None


def enough_rows(n: int, p: int, q: int) -> bool:
    """
    Whether n rows can tell anything: with n - 1 < p + q both sides share directions whatever they hold, so
    correlations of 1 mean nothing.
    """
    return n - 1 >= p + q


def cca(x: Directions, y: Directions) -> float | None:
    """
    The mean canonical correlation of all directions; None if there are too few rows for it. It is blind to
    invertible linear maps of either side.
    """
    u, v = x.u, y.u
    return mean_or_none(canonical(u, v)) if enough_rows(len(u), u.shape[1], v.shape[1]) else None


def svcca(x: Directions, y: Directions) -> float | None:
    """
    SVCCA: the mean canonical correlation of the directions that hold 99% of each side's variance; None if there
    are too few rows for it. Source: Raghu et al. 2017, arXiv 1706.05806.
    """
    u, v = x.largest(), y.largest()
    return mean_or_none(canonical(u, v)) if enough_rows(len(u), u.shape[1], v.shape[1]) else None


def pwcca(x: Directions, y: Directions) -> float | None:
    """
    PWCCA: sum of a_i rho_i / sum of a_i. a_i = sum over the columns x_j of |<h_i, x_j>|, h_i the i-th canonical
    variate of the side with fewer directions (x, if both have as many): directions that hold much of it count
    more. Not symmetric. None if there are too few rows. Source: Morcos et al. 2018, arXiv 1806.05759.
    """
    if y.u.shape[1] < x.u.shape[1]:
        x, y = y, x
    n, p = x.u.shape
    if p == 0 or not enough_rows(n, p, y.u.shape[1]):
        return None
    rotation, correlations, _ = np.linalg.svd(x.u.T @ y.u, full_matrices=False)
    variates = x.u @ rotation
    weights = np.abs(variates.T @ x.x).sum(axis=1)
    return float(np.clip(np.sum(weights * correlations) / np.sum(weights), 0.0, 1.0))


def linear_cka(x: Directions, y: Directions) -> float | None:
    """
    Linear CKA: |Y^T X|^2 / (|X^T X| |Y^T Y|), Frobenius norms of the centred matrices. From 0 to 1; it is blind
    to rotations and to one scale, not to other linear maps, and works with few rows (though it is never near 0
    with fewer rows than columns). None where a side has no variance.
    Source: Kornblith et al. 2019, arXiv 1905.00414.
    """
    own = np.sqrt(np.sum(x.values**4) * np.sum(y.values**4))
    if own == 0:
        return None
    scaled = (x.u * x.values).T @ (y.u * y.values)
    return float(np.sum(scaled**2) / own)


MEASURES = {"cca": cca, "svcca": svcca, "pwcca": pwcca, "cka": linear_cka}
