"""Compares layers with each other, with those of other states, and with labels: CCA, SVCCA, PWCCA, linear CKA.

    python3 tools/probes/compare_layers.py STATES [--with STATES] [--label FIELD]... --out FILE.json

Each measure is a matrix: how alike the states of two layers are over the same stimuli. Beside it stands what
chance gives: the same with the stimuli of one side in another order. Canonical correlations need many more
rows than there are directions (5 to 10 for each: Raghu et al. 2017); where they can't mean anything, null
stands in their place. similarity.py has the sources.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import packages  # noqa: F401  # before what needs them

import numpy as np

from command import (
    add_comparison,
    common_parser,
    count,
    print_correlation,
    print_notes,
    run_command,
    usage,
    write_summary,
)
from folds import Permuter, p_value
from outputs import check_output, inputs_of
from similarity import ENOUGH_ROWS, MEASURES, Directions, canonical, enough_rows, mean_or_none
from states import States, read_groups, read_labels, read_states, repeat_warnings

Matrix = list[list[float | None]]


def measure(name: str, x: list[Directions], y: list[Directions], same: bool) -> Matrix:
    """A measure of each pair of layers, [layers of x][layers of y]. `same`: both are the same states."""
    matrix: Matrix = [[None] * len(y) for _ in x]
    # With as many directions on both sides PWCCA weighs those of its first argument: it is not symmetric.
    mirror = same and name != "pwcca"
    for i, one in enumerate(x):
        for j, other in enumerate(y):
            known = mirror and j < i
            matrix[i][j] = matrix[j][i] if known else MEASURES[name](one, other)
    return matrix


def mean_matrix(matrices: list[Matrix]) -> Matrix:
    """The mean of matrices of one shape; None where they have none."""
    stacked = np.array(matrices, dtype=float)
    return [[None if np.isnan(x) else float(x) for x in row] for row in stacked.mean(axis=0)]


def compare(
    x: list[Directions], y: list[Directions], same: bool, shuffles: int, seed: int
) -> dict[str, dict[str, Matrix]]:
    """
    All measures of two lists of layers over the same n rows: `values`, and `chance`, their mean over `shuffles`
    orders of y's rows (none: left out).
    """
    random = np.random.default_rng(seed)
    orders = [random.permutation(len(x[0].u)) for _ in range(shuffles)]
    shuffled = [[layer.reordered(order) for layer in y] for order in orders]
    result: dict[str, dict[str, Matrix]] = {}
    for name in MEASURES:
        result[name] = {"values": measure(name, x, y, same)}
        if shuffles > 0:
            result[name]["chance"] = mean_matrix(
                [measure(name, x, other, False) for other in shuffled]
            )
    return result


def one_hot(labels: np.ndarray) -> np.ndarray:
    """A column for each class: 1 where a row has it. labels: [n]. Returns float64 [n, classes]."""
    return (labels[:, None] == np.unique(labels)[None, :]).astype(np.float64)


def correlate_label(
    layers: list[Directions], labels: np.ndarray, groups: np.ndarray, permutations: int, seed: int
) -> list[dict[str, Any]]:
    """
    The mean canonical correlation of a label's classes with each layer's directions that hold 99% of the
    variance, the same with permuted labels (Permuter), and p. layers: of n rows each; labels, groups: [n].
    It is of the rows that it was fitted on: only what lies above `permuted` counts.
    """
    permuter = Permuter(labels, groups, seed)
    orders = [labels, *(permuter.next() for _ in range(permutations))]
    bases = [Directions(one_hot(order)).u for order in orders]
    results = []
    for layer in layers:
        u = layer.largest()
        if not enough_rows(len(u), u.shape[1], bases[0].shape[1]):
            results.append({"correlation": None})
            continue
        values = np.array([mean_or_none(canonical(u, v)) for v in bases], dtype=float)
        own: dict[str, Any] = {"correlation": values[0]}
        if permutations > 0:
            own |= {"permuted": values[1:].mean(), "p": p_value(values[0], values[1:])}
        results.append(own)
    return results


def check_same_stimuli(x: States, y: States) -> None:
    """Raises Problem (2) unless both states have the same stimuli in the same order, and as many rows of each."""
    if [s["text"] for s in x.stimuli] != [s["text"] for s in y.stimuli]:
        usage(f"{x.path} and {y.path} are of other stimuli, or in another order")
    if not np.array_equal(x.stimulus, y.stimulus):
        usage(f"{x.path} and {y.path} have other numbers of tokens; take --tokens last or mean")


def sizes(layers: list[Directions]) -> list[dict[str, int]]:
    """How many directions each layer has, and how many of them SVCCA keeps."""
    return [{"all": layer.u.shape[1], "svcca": layer.largest().shape[1]} for layer in layers]


def describe_warnings(x: list[Directions], y: list[Directions]) -> list[str]:
    """What a reader of the matrices must know."""
    n = len(x[0].u)
    texts = []
    for key, name in (("all", "CCA and PWCCA"), ("svcca", "SVCCA")):
        p, q = (max(size[key] for size in sizes(side)) for side in (x, y))
        if not enough_rows(n, p, q):
            texts.append(
                f"{n} rows are too few for {name} of layers with up to {p} and {q} directions: where it would mean "
                "nothing it is left out. Take more stimuli, or --tokens each of all positions"
            )
        elif n < ENOUGH_ROWS * (p + q):
            texts.append(
                f"{n} rows are few for {name} of layers with up to {p} and {q} directions: chance alone gives much. "
                f"{ENOUGH_ROWS * (p + q)} would be enough"
            )
    return texts


def compare_states(
    x: States, y: States | None, labels: list[str], options: argparse.Namespace
) -> dict[str, Any]:
    """
    The results of the command. `y`: other states of the same stimuli; None: the layers of x with each other.
    `options`: group, shuffles, permutations, seed. Raises Problem (2 or 3) if stimuli or labels don't fit.
    """
    own = [Directions(x.values[:, i]) for i in range(len(x.layers))]
    other = own
    if y is not None:
        check_same_stimuli(x, y)
        other = [Directions(y.values[:, i]) for i in range(len(y.layers))]
    result: dict[str, Any] = {
        "rows": len(x.values),
        "layers": [x.layers, (y or x).layers],
        "directions": [sizes(own), sizes(other)],
        "shuffles": options.shuffles,
        "measures": compare(own, other, y is None, options.shuffles, options.seed),
        "labels": [],
        "warnings": describe_warnings(own, other) + repeat_warnings(x.values),
    }
    for label in labels:
        rows, names = read_labels(x, label)
        sides = (
            own
            if len(rows) == len(x.values)
            else [Directions(x.values[rows, i]) for i in range(len(x.layers))]
        )
        groups = read_groups(x, options.group)[rows]
        found = correlate_label(sides, names, groups, options.permutations, options.seed)
        layers = [{"layer": layer, **one} for layer, one in zip(x.layers, found)]
        result["labels"].append(
            {
                "label": label,
                "rows": len(rows),
                "permutations": options.permutations,
                "layers": layers,
            }
        )
    return result


def print_lines(summary: dict[str, Any]) -> None:
    """Prints a written summary for people."""
    layers = summary["layers"]
    for name, matrices in summary["measures"].items():
        ends = matrices["values"][0][-1]
        text = "null" if ends is None else f"{ends:.3f}"
        print(f"{name}: layer {layers[0][0]} with layer {layers[1][-1]}: {text}")
    for label in summary["labels"]:
        for one in label["layers"]:
            print_correlation(label["label"], one)
    print_notes(summary)


def main(args: list[str]) -> int:
    """Writes the matrices as JSON, and prints the ends of each."""
    parser = common_parser("compare_layers.py", __doc__)
    add_comparison(parser)
    parser.add_argument(
        "--group",
        metavar="FIELD",
        help="what labels are permuted within (default: group, or the text)",
    )
    parser.add_argument("--shuffles", type=count(0, 1000), default=3, help="for chance (default 3)")
    parser.add_argument(
        "--permutations", type=count(0, 100000), default=999, help="of labels (default 999)"
    )
    parser.add_argument("--out", required=True, metavar="FILE.json")
    options = parser.parse_args(args)
    check_output(options.out, inputs_of(options))
    x = read_states(options.states, options.sidecar, options.tokens)
    y = None if options.other is None else read_states(options.other, None, options.tokens)
    described = {"states": x.describe()} | ({} if y is None else {"other": y.describe()})
    result = compare_states(x, y, options.label, options)
    summary = write_summary(
        options.out, {"tool": "compare_layers", **described, "seed": options.seed, **result}
    )
    print_lines(summary)
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))
