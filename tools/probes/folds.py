"""Folds that keep groups whole, permutations of labels, and the p-values of both."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from command import shown, usage

BOOTSTRAPS = 1000

# For each fold the rows to learn from, and those to test on.
Split = list[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Folds:
    """
    How rows are divided for cross-validation: `count` folds of about the same share of each class, all rows
    of a group in one. They depend on labels, groups and seed alone. As scikit-learn makes them, so that its
    own functions give the same scores.
    """

    count: int
    seed: int
    grouped: bool

    def splitter(self) -> StratifiedGroupKFold | StratifiedKFold:
        """scikit-learn's splitter. Without repeated groups the plain one, which is quicker and more even."""
        kind = StratifiedGroupKFold if self.grouped else StratifiedKFold
        return kind(self.count, shuffle=True, random_state=self.seed)

    def split(self, labels: np.ndarray, groups: np.ndarray) -> Split:
        """
        The rows to learn from and those to test on, for each fold that has both. labels, groups: [n].
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a class has fewer rows than there are folds
            folds = list(self.splitter().split(np.zeros(len(labels)), labels, groups))
        return [(train, test) for train, test in folds if len(train) > 0 and len(test) > 0]


def choose_folds(
    labels: np.ndarray, names: np.ndarray, groups: np.ndarray, most: int, seed: int
) -> Folds:
    """
    As many folds as each class has groups, at most `most`. labels: numbers of classes, int [n]; names: of the
    classes; groups: [n]. Raises Problem (2) if a class is in one group only: then no fold can test what was
    learned of it.
    """
    least = most
    for i, name in enumerate(names):
        own = len(np.unique(groups[labels == i]))
        if own < 2:
            usage(
                f"the class {shown(str(name))} is in one group only, so a probe can't be tested on it; "
                "add stimuli, or leave its label out (null)"
            )
        least = min(least, own)
    return Folds(least, seed, len(np.unique(groups)) < len(groups))


class Permuter:
    """
    Permutes labels as the null hypothesis allows it: that labels say nothing of the states.

    `within` groups where groups have several classes: what the rows of a group share stays as it is. Where
    each group has one class its rows aren't exchangeable; then the labels of whole `groups` change places,
    among groups of any size. `all` where no group has several rows.
    Source: Ojala and Garriga 2010, JMLR 11; within groups as scikit-learn's permutation_test_score.
    """

    def __init__(self, labels: np.ndarray, groups: np.ndarray, seed: int) -> None:
        """labels, groups: [n]."""
        self.labels = labels
        self.groups = groups
        # The generator that scikit-learn uses, so that the same seed gives the same permutations.
        self.random = np.random.RandomState(seed)
        self.names = np.unique(groups)
        self.rows = [np.flatnonzero(groups == name) for name in self.names]
        mixed = [rows for rows in self.rows if len(np.unique(labels[rows])) > 1]
        # The share of rows whose label can change.
        self.free = sum(len(rows) for rows in mixed) / len(labels)
        if len(self.names) == len(labels):
            self.kind, self.free = "all", 1.0
        elif mixed:
            self.kind = "within"
        else:
            self.kind, self.free = "groups", 1.0

    def next(self) -> np.ndarray:
        """The labels in another order, [n]."""
        if self.kind == "all":
            return self.labels[self.random.permutation(len(self.labels))]
        if self.kind == "within":
            order = np.arange(len(self.labels))
            for rows in self.rows:
                order[rows] = self.random.permutation(order[rows])
            return self.labels[order]
        permuted = np.empty_like(self.labels)
        donors = self.random.permutation(len(self.rows))
        for rows, donor in zip(self.rows, donors):
            permuted[rows] = self.labels[self.rows[donor][0]]
        return permuted


def permuted_splits(
    labels: np.ndarray, groups: np.ndarray, folds: Folds, number: int, seed: int
) -> list[tuple[np.ndarray, Split]]:
    """
    So many permutations of the labels (Permuter), each with its folds: they are those of the labels that are
    permuted, as the real ones are those of the real labels. labels, groups: [n].
    """
    permuter = Permuter(labels, groups, seed)
    # Within groups each keeps its classes, and with them the folds stay.
    kept = folds.split(labels, groups) if permuter.kind == "within" else None
    orders = [permuter.next() for _ in range(number)]
    return [(order, kept or folds.split(order, groups)) for order in orders]


def p_value(real: float, permuted: np.ndarray) -> float:
    """
    (1 + how many permuted scores are at least the real one) / (1 + their number). permuted: [m]; it is at
    least 1 / (m + 1). Source: Ojala and Garriga 2010.
    """
    # Scores that are the same but for the order of a sum count as equal.
    return float((1 + np.sum(permuted >= real - 1e-12)) / (len(permuted) + 1))


def bootstrap_interval(values: np.ndarray, groups: np.ndarray, seed: int) -> list[float]:
    """
    The 95% interval of the mean of values [n] over other stimuli: a bootstrap of whole groups [n], 1,000 draws.
    Source: Efron and Tibshirani 1993, percentile intervals.
    """
    random = np.random.default_rng(seed)
    _, number = np.unique(groups, return_inverse=True)
    sizes = np.bincount(number)
    sums = np.bincount(number, weights=values)
    means = np.empty(BOOTSTRAPS)
    for i in range(BOOTSTRAPS):
        drawn = random.integers(0, len(sizes), len(sizes))
        means[i] = sums[drawn].sum() / sizes[drawn].sum()
    return [float(x) for x in np.percentile(means, [2.5, 97.5])]
