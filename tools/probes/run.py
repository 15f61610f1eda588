"""Runs all probes on states of `sluice probe`, and writes a page with their pictures.

    python3 tools/probes/run.py STATES --label FIELD [--label FIELD]... [--model MODEL.gguf] --out FOLDER

FOLDER gets linear_probe.json (with a label), compare_layers.json, rsa.json, divergence.json (with a model); then
the pictures as SVG, and index.html, which has them in it. The summaries come first: the page only shows them.
What these tools wrote there before is replaced. Where one of these names is another file, nothing begins.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

import packages  # before what needs them

import compare_layers
import divergence
import linear_probe
import rsa
from command import (
    add_comparison,
    common_parser,
    count,
    print_progress,
    run_command,
    shown,
    usage,
    write_file,
    write_summary,
)
from lens import Head
from outputs import check_folder, inputs_of, make_folder
from states import States, read_labels, read_states


def names_of(options: argparse.Namespace) -> list[str]:
    """The files that come into the folder."""
    probes, head = bool(options.label), options.model is not None
    names = {
        "linear_probe.json": probes,
        "compare_layers.json": True,
        "rsa.json": True,
        "divergence.json": head,
        **{f"linear-probe-{i}.svg": True for i in range(len(options.label))},
        "layers.svg": True,
        "labels.svg": probes,
        "rsa.svg": True,
        "rsa-labels.svg": True,
        "divergence.svg": head,
        "index.html": True,
    }
    return [name for name, comes in names.items() if comes]


def summarize(
    states: States, other: States | None, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Runs the tools, writes each one's summary as soon as it is there, and returns them. Raises Problem as they do."""
    # Before the long ones, so that what is wrong is told at once.
    head = None if options.model is None else Head(options.model)
    if head is not None:
        head.check_states(states)
    for label in options.label:
        read_labels(states, label)
    make_folder(options.out)
    both = {"states": states.describe()} | ({} if other is None else {"other": other.describe()})
    summaries = []

    def keep(tool: str, described: dict[str, Any], result: dict[str, Any]) -> None:
        path = os.path.join(options.out, f"{tool}.json")
        summaries.append(
            write_summary(path, {"tool": tool, **described, "seed": options.seed, **result})
        )

    own = {"states": states.describe()}
    if options.label:
        probes = []
        for label in options.label:
            print_progress(f"linear probe of {shown(label)}")
            probes.append(linear_probe.probe_label(states, label, options))
        keep("linear_probe", own, {"probes": probes})
    print_progress("layers beside layers")
    keep(
        "compare_layers", both, compare_layers.compare_states(states, other, options.label, options)
    )
    print_progress("representational similarity")
    keep("rsa", both, rsa.compare_pairs(states, other, options.label, options))
    if head is not None:
        print_progress("logit lens")
        described = own | {"head": os.path.basename(options.model)}
        keep("divergence", described, divergence.diverge(states, head, options.group, options.seed))
    return summaries


def main(args: list[str]) -> int:
    """Writes the summaries, then the pictures and the page. Prints the name of each file."""
    parser = common_parser("run.py", __doc__)
    add_comparison(parser)
    parser.add_argument(
        "--model", metavar="MODEL.gguf", help="the file that the states are of, for the logit lens"
    )
    linear_probe.add_options(parser)
    parser.add_argument(
        "--shuffles", type=count(0, 1000), default=3, help="for the chance of CCA (default 3)"
    )
    parser.add_argument(
        "--most", type=count(4, 5000), default=500, help="rows of RSA (default 500)"
    )
    parser.add_argument("--out", required=True, metavar="FOLDER")
    options = parser.parse_args(args)
    if len(set(options.label)) < len(options.label):
        usage("a label is given twice")
    packages.need("matplotlib")
    check_folder(options.out, names_of(options), inputs_of(options))
    states = read_states(options.states, options.sidecar, options.tokens)
    other = None if options.other is None else read_states(options.other, None, options.tokens)
    summaries = summarize(states, other, options)
    # Loaded late: whoever wants only numbers has them, also where a picture fails.
    from page import make_page

    page, pictures = make_page(summaries)
    for name, text in pictures.items():
        write_file(os.path.join(options.out, name), text.encode())
    write_file(os.path.join(options.out, "index.html"), page.encode())
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))
