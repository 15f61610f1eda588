"""How far each layer's answer is from the last one's: Jensen-Shannon divergence by the logit lens.

    python3 tools/probes/divergence.py STATES --model MODEL.gguf --out FILE.json

Of each row the final norm and the head make a distribution over the vocabulary (lens.py). Two of them are
compared by (KL(P||M) + KL(Q||M)) / 2, M = (P + Q) / 2, in nats: from 0 to ln 2 = 0.693 (Lin 1991, IEEE Trans.
Inf. Theory 37:145). It is the square of what scipy's jensenshannon returns. Each layer stands beside the last
one and beside the one before it, with the mean over the rows and the interval that a bootstrap gives it.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import packages  # noqa: F401  # before what needs them

import numpy as np

from command import common_parser, run_command, write_summary
from folds import bootstrap_interval
from lens import Head
from outputs import check_output, inputs_of
from states import States, read_groups, read_states

# Numbers of a block of distributions: 32 MB in float64.
BLOCK = 1 << 22


def entropy(log_p: np.ndarray) -> np.ndarray:
    """In nats, of distributions given by their logs [n, vocab]: [n]. 0 ln 0 = 0."""
    p = np.exp(log_p)
    return -np.sum(p * np.where(p > 0, log_p, 0.0), axis=1)


def jensen_shannon(log_p: np.ndarray, log_q: np.ndarray) -> np.ndarray:
    """
    The Jensen-Shannon divergence of pairs of distributions given by their logs [n, vocab], in nats: [n]. It is
    H(M) - (H(P) + H(Q)) / 2, summed a token at a time so that little is lost where the two are alike.
    """
    log_m = np.logaddexp(log_p, log_q) - np.log(2.0)
    p, q = np.exp(log_p), np.exp(log_q)
    parts = p * np.where(p > 0, log_p - log_m, 0.0) + q * np.where(q > 0, log_q - log_m, 0.0)
    return np.clip(np.sum(parts, axis=1) / 2, 0.0, np.log(2.0))


def lens_rows(values: np.ndarray, head: Head) -> dict[str, np.ndarray]:
    """
    What the lens says of rows [n, layers, dim], the last layer being the model's: `toLast` and `toBefore` (of the
    first layer 0), nats, `entropy`, nats, and `sameBest`, whether the likeliest token is the last layer's:
    float64 [n, layers] each.
    """
    n, n_layers, _ = values.shape
    names = ("toLast", "toBefore", "entropy", "sameBest")
    found = {name: np.zeros((n, n_layers)) for name in names}
    step = max(1, BLOCK // head.vocab)
    for first in range(0, n, step):
        rows = slice(first, first + step)
        last = head.log_probabilities(values[rows, -1])
        before = None
        for i in range(n_layers):
            own = last if i == n_layers - 1 else head.log_probabilities(values[rows, i])
            if own is not last:
                found["toLast"][rows, i] = jensen_shannon(own, last)
            found["entropy"][rows, i] = entropy(own)
            found["sameBest"][rows, i] = own.argmax(axis=1) == last.argmax(axis=1)
            if before is not None:
                found["toBefore"][rows, i] = jensen_shannon(own, before)
            before = own
    return found


def diverge(states: States, head: Head, group: str | None, seed: int) -> dict[str, Any]:
    """The results of the command. Raises Problem (2) if states and model don't fit."""
    head.check_states(states)
    groups = read_groups(states, group)
    found = lens_rows(states.values, head)
    layers = []
    for i, layer in enumerate(states.layers):
        one: dict[str, Any] = {"layer": layer}
        for name, values in found.items():
            if name == "toBefore" and i == 0:
                continue
            own = values[:, i]
            one[name] = {"mean": own.mean(), "interval": bootstrap_interval(own, groups, seed)}
        layers.append(one)
    return {
        "rows": len(states.values),
        "groups": len(np.unique(groups)),
        "unit": "nats",
        "most": np.log(2.0),
        "layers": layers,
        "warnings": [],
    }


def print_lines(summary: dict[str, Any]) -> None:
    """Prints a written summary for people."""
    for one in summary["layers"]:
        low, high = one["toLast"]["interval"]
        print(
            f"layer {one['layer']}: {one['toLast']['mean']:.4f} nats to the last ({low:.4f} to {high:.4f}), "
            f"same best token {one['sameBest']['mean']:.0%}"
        )


def main(args: list[str]) -> int:
    """Writes the divergences as JSON, and prints a line for each layer."""
    parser = common_parser("divergence.py", __doc__)
    parser.add_argument(
        "--model", required=True, metavar="MODEL.gguf", help="the file that the states are of"
    )
    parser.add_argument(
        "--group", metavar="FIELD", help="what is drawn whole (default: group, or the text)"
    )
    parser.add_argument("--out", required=True, metavar="FILE.json")
    options = parser.parse_args(args)
    check_output(options.out, inputs_of(options))
    states = read_states(options.states, options.sidecar, options.tokens)
    result = diverge(states, Head(options.model), options.group, options.seed)
    summary = write_summary(
        options.out,
        {
            "tool": "divergence",
            "states": states.describe(),
            "head": os.path.basename(options.model),
            "seed": options.seed,
            **result,
        },
    )
    print_lines(summary)
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))
