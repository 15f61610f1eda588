"""A linear probe of each layer: can a linear classifier read a label of the stimuli from the states?

    python3 tools/probes/linear_probe.py STATES --label FIELD --out FILE.json

Multinomial logistic regression with an L2 penalty on states that are frozen (Alain and Bengio 2016,
arXiv 1610.01644), features standardized inside each training fold. Beside it stand what chance gives
(permuted labels; Ojala and Garriga 2010, JMLR 11), what the majority gives, and a control task with random
labels for each type of word (Hewitt and Liang 2019, arXiv 1909.03368).
"""

from __future__ import annotations

import argparse
import sys
import warnings
from typing import Any

import packages  # noqa: F401  # before what needs them

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from command import common_parser, count, run_command, shown, usage, write_summary
from folds import Permuter, bootstrap_interval, Split, choose_folds, p_value, permuted_splits
from outputs import check_output, inputs_of
from states import States, read_field, read_groups, read_labels, read_states, repeat_warnings

# Types of words from which on random labels of them are a task.
LEAST_TYPES = 6


def make_probe(strength: float) -> Pipeline:
    """scikit-learn's pipeline. `strength`: its C, the inverse of the penalty."""
    return make_pipeline(StandardScaler(), LogisticRegression(C=strength, max_iter=2000))


def predict(x: np.ndarray, labels: np.ndarray, split: Split, strength: float) -> np.ndarray:
    """
    What the probe says of each row when it was trained without the row's fold. x: float64 [n, dim]; labels:
    [n]. Returns [n]. Where a training fold has one class alone, that is what it says.
    """
    said = np.empty_like(labels)
    for train, test in split:
        if len(np.unique(labels[train])) < 2:
            said[test] = labels[train][0]
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it didn't converge in 2,000 steps: close enough
            said[test] = make_probe(strength).fit(x[train], labels[train]).predict(x[test])
    return said


def share_right(said: np.ndarray, labels: np.ndarray) -> float:
    """
    The share of right answers over all rows, [n] each. Where folds are of the same size it is the mean of theirs,
    which scikit-learn's cross_val_score gives.
    """
    return float(np.mean(said == labels))


def control_labels(
    types: np.ndarray, labels: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """
    A class for each type, at random; the same wherever the type occurs. types, labels: [n]. Returns [n]. Types
    get the classes as often as rows have them, as evenly as their number allows: with few types free draws would
    give one class most of the rows, and a control task that guessing solves.
    Source: Hewitt and Liang 2019, section 2.
    """
    _, number = np.unique(types, return_inverse=True)
    n_types = number.max() + 1
    places = ((np.arange(n_types) + 0.5) * len(labels) / n_types).astype(int)
    return random.permutation(np.sort(labels)[places])[number]


def seen_share(types: np.ndarray, split: Split) -> float:
    """The share of tested rows whose type is in the training fold as well. types: [n]."""
    seen = [np.isin(types[test], types[train]) for train, test in split]
    return float(np.mean(np.concatenate(seen)))


def types_of(states: States, rows: np.ndarray, name: str | None) -> np.ndarray:
    """
    The type of word of each of `rows` for the control task, texts [n]: the field `name`, or the field "type" if
    the stimuli have one; otherwise the token that the row is of, or for the mean of a text the text.
    """
    if name is None and any("type" in stimulus for stimulus in states.stimuli):
        name = "type"
    if name is not None:
        values = read_field(states, name)
        return np.array([values[row] or f"row {row}" for row in rows])
    types = []
    for row in rows:
        stimulus = states.stimuli[states.stimulus[row]]
        token = states.token[row]
        types.append(stimulus["text"] if token < 0 else f"id {stimulus['tokens'][token]}")
    return np.array(types)


def probe_layer(
    x: np.ndarray,
    labels: np.ndarray,
    split: Split,
    permuted: list[tuple[np.ndarray, Split]],
    controls: list[np.ndarray],
    strength: float,
) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """
    Probes one layer. x: [n, dim]; labels: [n]; permuted: other orders of the labels with their folds; controls:
    random labels, [n] each. Returns what is known of the layer, which rows the probe got right (bool [n]), and
    the scores of the permuted labels.
    """
    x = x.astype(np.float64)
    said = predict(x, labels, split, strength)
    accuracy = share_right(said, labels)
    scores = np.array(
        [share_right(predict(x, order, own, strength), order) for order, own in permuted]
    )
    control = [share_right(predict(x, other, split, strength), other) for other in controls]
    result: dict[str, Any] = {
        "accuracy": accuracy,
        "macroF1": f1_score(labels, said, average="macro", zero_division=0),
    }
    if permuted:
        result["permuted"] = {"mean": scores.mean(), "most": scores.max()}
        result["p"] = p_value(accuracy, scores)
    if controls:
        result["control"] = float(np.mean(control))
        result["selectivity"] = accuracy - result["control"]
    return result, said == labels, scores


def describe_warnings(summary: dict[str, Any], dim: int, wanted: int) -> list[str]:
    """What a reader of a label's figures must know. wanted: control tasks that were asked for."""
    n, free, seen = summary["rows"], summary["permutations"]["free"], summary["typesSeen"]
    texts = []
    if n <= dim:
        texts.append(
            f"{n} rows are fewer than the {dim} dimensions: a probe separates any labels of those that it was "
            "trained on, so only what it says of other folds counts"
        )
    if free < 0.5:
        texts.append(
            f"only {free:.0%} of the rows are in groups with several classes; the other labels stay as they are "
            "when labels are permuted, so p is too large"
        )
    if wanted > 0 and summary["controls"] == 0:
        texts.append(
            f"the control task was left out: random labels of {summary['types']} types of words say nothing; "
            f"--type names a field with at least {LEAST_TYPES}"
        )
    elif wanted > 0 and seen < 0.5:
        texts.append(
            f"only {seen:.0%} of the tested rows have a type that was in training, so the control task can't be "
            "learned and selectivity is little more than accuracy less chance; --type names a field with types "
            "that occur in several groups"
        )
    return texts


def probe_label(states: States, label: str, options: argparse.Namespace) -> dict[str, Any]:
    """
    Probes a label in all layers. `options`: group, type, folds, permutations, controls, strength, seed. Raises
    Problem (2 or 3) if the label doesn't fit the states.
    """
    rows, names_of_rows = read_labels(states, label)
    names, labels, sizes = np.unique(names_of_rows, return_inverse=True, return_counts=True)
    groups = read_groups(states, options.group)[rows]
    types = types_of(states, rows, options.type)
    folds = choose_folds(labels, names, groups, options.folds, options.seed)
    split = folds.split(labels, groups)
    permuted = permuted_splits(labels, groups, folds, options.permutations, options.seed)
    random = np.random.default_rng(options.seed)
    enough = len(np.unique(types)) >= LEAST_TYPES
    number = options.controls if enough else 0
    controls = [control_labels(types, labels, random) for _ in range(number)]
    layers, all_scores = [], []
    for i, layer in enumerate(states.layers):
        x = states.values[rows, i]
        result, right, scores = probe_layer(x, labels, split, permuted, controls, options.strength)
        layers.append(
            {"layer": layer, **result, "interval": bootstrap_interval(right, groups, options.seed)}
        )
        all_scores.append(scores)
    permuter = Permuter(labels, groups, options.seed)
    seen = seen_share(types, split)
    best = max(layers, key=lambda one: one["accuracy"])
    summary: dict[str, Any] = {
        "label": label,
        "rows": len(rows),
        "groups": len(np.unique(groups)),
        "classes": {str(name): int(size) for name, size in zip(names, sizes)},
        "majority": sizes.max() / len(rows),
        "folds": folds.count,
        "permutations": {
            "kind": permuter.kind,
            "count": options.permutations,
            "free": permuter.free,
        },
        "controls": number,
        "types": len(np.unique(types)),
        "typesSeen": seen,
        "best": {"layer": best["layer"], "accuracy": best["accuracy"]},
        "layers": layers,
    }
    dim = states.values.shape[2]
    summary["warnings"] = describe_warnings(summary, dim, options.controls)
    summary["warnings"] += repeat_warnings(states.values[rows])
    if options.permutations > 0:
        # The best of all layers against the best of all layers with permuted labels: one test for all of them.
        summary["best"]["p"] = p_value(best["accuracy"], np.max(all_scores, axis=0))
    return summary


def positive(text: str) -> float:
    """The type of an option that is a number from 1e-6 to 1e6."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1e-6 <= value <= 1e6:
        raise argparse.ArgumentTypeError("expected a number from 1e-6 to 1e6")
    return value


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of probe_label."""
    parser.add_argument(
        "--group", metavar="FIELD", help="what must stay in one fold (default: group, or the text)"
    )
    parser.add_argument(
        "--type",
        metavar="FIELD",
        help="types of the control task (default: type, or the row's token)",
    )
    parser.add_argument("--folds", type=count(2, 50), default=5, help="(default 5)")
    parser.add_argument(
        "--permutations", type=count(0, 100000), default=100, help="of labels (default 100)"
    )
    parser.add_argument(
        "--controls", type=count(0, 1000), default=5, help="random control tasks (default 5)"
    )
    parser.add_argument(
        "--strength",
        type=positive,
        default=1.0,
        metavar="C",
        help="C, the inverse of the penalty (default 1)",
    )


def main(args: list[str]) -> int:
    """Writes the probe of each label as JSON, and prints a line for each layer."""
    parser = common_parser("linear_probe.py", __doc__)
    parser.add_argument(
        "--label", action="append", required=True, metavar="FIELD", help="several may be given"
    )
    add_options(parser)
    parser.add_argument("--out", required=True, metavar="FILE.json")
    options = parser.parse_args(args)
    if len(set(options.label)) < len(options.label):
        usage("a label is given twice")
    check_output(options.out, inputs_of(options))
    states = read_states(options.states, options.sidecar, options.tokens)
    probes = [probe_label(states, label, options) for label in options.label]
    summary = write_summary(
        options.out,
        {
            "tool": "linear_probe",
            "states": states.describe(),
            "seed": options.seed,
            "probes": probes,
        },
    )
    print_lines(summary)
    return 0


def print_lines(summary: dict[str, Any]) -> None:
    """Prints a written summary for people."""
    for probe in summary["probes"]:
        print(f"{shown(probe['label'])}: {probe['rows']} rows, majority {probe['majority']:.3f}")
        for one in probe["layers"]:
            extra = "".join(
                f", {name} {one[name]:.3f}" for name in ("p", "selectivity") if name in one
            )
            print(
                f"  layer {one['layer']}: accuracy {one['accuracy']:.3f}, macro F1 {one['macroF1']:.3f}{extra}"
            )
        for text in probe["warnings"]:
            print(f"  note: {text}")


if __name__ == "__main__":
    sys.exit(run_command(main))
