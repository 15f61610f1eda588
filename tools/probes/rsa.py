"""Representational similarity: which stimuli a layer holds for alike, compared between layers and with labels.

    python3 tools/probes/rsa.py STATES [--with STATES] [--label FIELD]... --out FILE.json

Of each layer the matrix of dissimilarities of all pairs of stimuli: 1 - Pearson's r over the dimensions. Two
matrices are compared by Spearman's rank correlation of their upper triangles without the diagonal; p by
permuting the stimuli of one, rows and columns together. A label's matrix has 0 for a pair of one class and 1
for others; `tokens` is how few tokens two texts share (1 - Jaccard): what any reader of words would hold.
Source: Kriegeskorte, Mur and Bandettini 2008, Front. Syst. Neurosci. 2:4.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import packages  # noqa: F401  # before what needs them

import numpy as np
from scipy.stats import rankdata

from command import (
    add_comparison,
    common_parser,
    count,
    print_correlation,
    print_notes,
    run_command,
    shown,
    usage,
    write_summary,
)
from compare_layers import check_same_stimuli
from folds import p_value
from outputs import check_output, inputs_of
from states import States, read_labels, read_states, repeat_warnings


def dissimilarities(x: np.ndarray) -> np.ndarray:
    """
    1 - Pearson's r of each pair of rows of x [n, dim], float64 [n, n]. A row whose numbers are all the same has
    no r: its pairs are 1.
    """
    rows = x.astype(np.float64)
    rows = rows - rows.mean(axis=1, keepdims=True)
    lengths = np.sqrt(np.sum(rows**2, axis=1, keepdims=True))
    rows = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return 1.0 - np.clip(rows @ rows.T, -1.0, 1.0)


def label_dissimilarities(labels: np.ndarray) -> np.ndarray:
    """0 where two rows have the same label, otherwise 1. labels: [n]. Returns float64 [n, n]."""
    return (labels[:, None] != labels[None, :]).astype(np.float64)


def token_dissimilarities(texts: list[list[int]]) -> np.ndarray:
    """1 - the share of two texts' different tokens that both have (Jaccard). Returns float64 [n, n]."""
    ids = sorted({id for text in texts for id in text})
    place = {id: i for i, id in enumerate(ids)}
    has = np.zeros((len(texts), len(ids)))
    for row, text in enumerate(texts):
        has[row, [place[id] for id in text]] = 1
    both = has @ has.T
    sizes = has.sum(axis=1)
    return 1.0 - both / np.maximum(sizes[:, None] + sizes[None, :] - both, 1)


class Ranks:
    """
    The ranks of the upper triangle of a matrix of dissimilarities [n, n], centred, as a symmetric matrix whose
    upper triangle has the length 1: another order of the stimuli needs no new ranks. `flat`: all are the same,
    so that no correlation exists.
    """

    def __init__(self, matrix: np.ndarray) -> None:
        upper = np.triu_indices(len(matrix), 1)
        ranks = rankdata(matrix[upper])
        ranks -= ranks.mean()
        length = np.sqrt(np.sum(ranks**2))
        self.flat = bool(length == 0)
        self.matrix = np.zeros(matrix.shape)
        self.matrix[upper] = ranks if self.flat else ranks / length
        self.matrix += self.matrix.T


def correlate(sides: list[Ranks], other: Ranks, orders: list[np.ndarray]) -> list[dict[str, Any]]:
    """
    Spearman's correlation of each of `sides` with `other`, over the same n stimuli, and p over these orders of
    the stimuli of `other` (int [n] each). None where one of the two has the same number for all pairs.
    """
    # Both triangles of the symmetric matrices are summed: twice the correlation.
    flat = np.stack([side.matrix.ravel() for side in sides]) / 2
    real = flat @ other.matrix.ravel()
    permuted = np.array([flat @ other.matrix[order][:, order].ravel() for order in orders])
    results: list[dict[str, Any]] = []
    for i, side in enumerate(sides):
        if side.flat or other.flat:
            results.append({"correlation": None})
            continue
        results.append({"correlation": real[i]})
        if orders:
            own = permuted[:, i]
            results[-1] |= {
                "permuted": {"mean": own.mean(), "most": own.max()},
                "p": p_value(real[i], own),
            }
    return results


def choose_rows(states: States, most: int, seed: int) -> np.ndarray:
    """The rows to compare, ascending: all, or `most` of them drawn at random. int [n]."""
    n = len(states.values)
    if n < 4:
        usage(f"{n} rows have no pairs to rank; RSA wants at least 4")
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


def compare_pairs(
    states: States, other: States | None, labels: list[str], options: argparse.Namespace
) -> dict[str, Any]:
    """
    The results of the command. `other`: states of the same stimuli; None: the layers with each other. `options`:
    most, permutations, seed. Raises Problem (2 or 3) if stimuli or labels don't fit.
    """
    if other is not None:
        check_same_stimuli(states, other)
    rows = choose_rows(states, options.most, options.seed)
    random = np.random.default_rng(options.seed)
    orders = [random.permutation(len(rows)) for _ in range(options.permutations)]
    own = [Ranks(dissimilarities(states.values[rows, i])) for i in range(len(states.layers))]
    across = own
    if other is not None:
        across = [Ranks(dissimilarities(other.values[rows, i])) for i in range(len(other.layers))]
    columns = [correlate(own, y, orders) for y in across]
    pairs = [[column[i] for column in columns] for i in range(len(own))]
    result: dict[str, Any] = {
        "rows": len(rows),
        "permutations": len(orders),
        "layers": [states.layers, (other or states).layers],
        "correlations": [[one["correlation"] for one in line] for line in pairs],
        "p": [[one.get("p") for one in line] for line in pairs],
        "references": [],
        "warnings": repeat_warnings(states.values[rows]),
    }
    if len(rows) < len(states.values):
        result["warnings"].append(
            f"{len(rows)} of {len(states.values)} rows, drawn at random (--most)"
        )
    tokens = Ranks(
        token_dissimilarities([states.stimuli[states.stimulus[row]]["tokens"] for row in rows])
    )
    result["references"].append(reference("tokens", states.layers, own, tokens, orders))
    for label in labels:
        labelled, names = read_labels(states, label)
        used, mine, theirs = np.intersect1d(rows, labelled, return_indices=True)
        if len(used) < 4:
            usage(f"only {len(used)} of the rows have the label {shown(label)}")
        sides, own_orders = own, orders
        if len(used) < len(rows):
            sides = [
                Ranks(dissimilarities(states.values[used, i])) for i in range(len(states.layers))
            ]
            own_orders = [random.permutation(len(used)) for _ in orders]
        ranks = Ranks(label_dissimilarities(names[theirs]))
        result["references"].append(reference(label, states.layers, sides, ranks, own_orders))
    return result


def reference(
    name: str, layers: list[int], sides: list[Ranks], ranks: Ranks, orders: list[np.ndarray]
) -> dict[str, Any]:
    """How each layer's matrix goes with another one of the same stimuli."""
    found = [{"layer": layer, **one} for layer, one in zip(layers, correlate(sides, ranks, orders))]
    return {"reference": name, "rows": len(ranks.matrix), "layers": found}


def print_lines(summary: dict[str, Any]) -> None:
    """Prints a written summary for people."""
    for one in summary["references"]:
        for layer in one["layers"]:
            print_correlation(one["reference"], layer)
    print_notes(summary)


def main(args: list[str]) -> int:
    """Writes the correlations as JSON, and prints those with labels."""
    parser = common_parser("rsa.py", __doc__)
    add_comparison(parser)
    parser.add_argument(
        "--most", type=count(4, 5000), default=500, help="rows that are compared (default 500)"
    )
    parser.add_argument("--permutations", type=count(0, 100000), default=999, help="(default 999)")
    parser.add_argument("--out", required=True, metavar="FILE.json")
    options = parser.parse_args(args)
    check_output(options.out, inputs_of(options))
    states = read_states(options.states, options.sidecar, options.tokens)
    other = None if options.other is None else read_states(options.other, None, options.tokens)
    described = {"states": states.describe()} | (
        {} if other is None else {"other": other.describe()}
    )
    result = compare_pairs(states, other, options.label, options)
    summary = write_summary(
        options.out, {"tool": "rsa", **described, "seed": options.seed, **result}
    )
    print_lines(summary)
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))
