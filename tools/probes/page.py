"""The page that shows the summaries: one HTML file with its pictures in it."""

from __future__ import annotations

from typing import Any

from command import MARK
from figures import (
    TITLES,
    alone,
    draw_divergence,
    draw_lines,
    draw_measures,
    draw_probe,
    draw_rsa_map,
    escape,
    measures_with_numbers,
)
from markup import STYLE, Picture, matrix_table, notes, number, section, show, table


def probe_part(summary: dict[str, Any], pictures: list[Picture]) -> str:
    """The linear probes, one picture for each label. Adds the pictures to `pictures`."""
    parts = []
    for i, probe in enumerate(summary["probes"]):
        best = probe["best"]
        alt = (
            f"Accuracy of a linear probe of {probe['label']} by layer: the best is {best['accuracy']:.2f} at layer "
            f"{best['layer']}; the majority gives {probe['majority']:.2f}."
        )
        pictures.append(Picture(f"linear-probe-{i}", alt, draw_probe(probe, f"probe{i}")))
        p = f" (p {best['p']:.3f} for the best of all layers)" if "p" in best else ""
        classes = ", ".join(f"{name} {size}" for name, size in list(probe["classes"].items())[:12])
        caption = (
            f"{probe['label']}: {probe['rows']} rows in {probe['groups']} groups ({classes}), {probe['folds']} folds. "
            f"Best at layer {best['layer']}: {best['accuracy']:.3f}{p}."
        )
        heads = [
            "layer",
            "accuracy",
            "from",
            "to",
            "macro F1",
            "permuted",
            "p",
            "control",
            "selectivity",
        ]
        rows = [
            [
                *(
                    number(value)
                    for value in (one["layer"], one["accuracy"], *one["interval"], one["macroF1"])
                ),
                number(one.get("permuted", {}).get("mean")),
                *(number(one.get(name)) for name in ("p", "control", "selectivity")),
            ]
            for one in probe["layers"]
        ]
        parts += [show(pictures[-1], caption), table(heads, rows), notes(probe["warnings"])]
    words = (
        "Can a linear classifier read the label from a layer's states? It is tested on groups of stimuli that it "
        "has not seen. It means something where it is above the permuted labels, and above the control task, in "
        "which each type of word has a random label: a probe that learns those as well learns anything."
    )
    return section("Linear probes", words, "linear_probe.json", *parts)


def compare_part(summary: dict[str, Any], pictures: list[Picture]) -> str:
    """The matrices of CCA and CKA, and the labels' correlations. Adds the pictures to `pictures`."""
    names = ", ".join(TITLES[name] for name in measures_with_numbers(summary))
    pictures.append(
        Picture(
            "layers",
            f"Maps of layers by layers: how alike their states are by {names}.",
            draw_measures(summary, "layers"),
        )
    )
    parts = [
        show(
            pictures[-1],
            f"{summary['rows']} rows; 1 is the most. Where a number is missing there are too few rows for it.",
        )
    ]
    for name, matrices in summary["measures"].items():
        chance = [x for line in matrices.get("chance", []) for x in line if x is not None]
        title = f"{TITLES[name]}: the numbers"
        if chance:
            title += f"; with the stimuli of one side in another order at most {max(chance):.3f}"
        parts.append(matrix_table(matrices["values"], summary["layers"], title))
    if summary["labels"]:
        lines = [(one["label"], one["layers"]) for one in summary["labels"]]
        alt = "Canonical correlation of the labels with each layer, beside that of permuted labels."
        pictures.append(
            Picture("labels", alt, draw_lines(lines, "Canonical correlation with labels", "labels"))
        )
        heads = ["label", "layer", "correlation", "permuted", "p"]
        rows = [
            [label, *(number(one.get(name)) for name in ("layer", "correlation", "permuted", "p"))]
            for label, layers in lines
            for one in layers
        ]
        parts += [
            show(
                pictures[-1],
                "Fitted and measured on the same rows: only what is above the dotted line counts.",
            ),
            table(heads, rows),
        ]
    words = (
        "Do two layers hold the same, but for a linear map? Canonical correlations are blind to any invertible map; "
        "SVCCA leaves out directions of little variance, PWCCA weighs them; CKA is blind to rotations only."
    )
    return section(
        "Layers beside layers", words, "compare_layers.json", *parts, notes(summary["warnings"])
    )


def rsa_part(summary: dict[str, Any], pictures: list[Picture]) -> str:
    """RSA's map, and its lines of labels. Adds the pictures to `pictures`."""
    alt = "Map of layers by layers: Spearman's correlation of their matrices of dissimilarities."
    pictures.append(Picture("rsa", alt, draw_rsa_map(summary, "rsa"), small=True))
    parts = [
        show(pictures[-1], f"{summary['rows']} stimuli, {summary['permutations']} permutations."),
        matrix_table(summary["correlations"], summary["layers"]),
    ]
    lines = [(one["reference"], one["layers"]) for one in summary["references"]]
    alt = "Correlation of each layer's dissimilarities with those of shared tokens and of labels."
    pictures.append(
        Picture("rsa-labels", alt, draw_lines(lines, "RSA: with tokens and labels", "rsalabels"))
    )
    rows = [
        [
            name,
            number(one["layer"]),
            number(one["correlation"]),
            number(one.get("permuted", {}).get("mean")),
            number(one.get("p")),
        ]
        for name, layers in lines
        for one in layers
    ]
    caption = "tokens: how few tokens two texts share, which any reader of words would find."
    parts += [
        show(pictures[-1], caption),
        table(["with", "layer", "correlation", "permuted", "p"], rows),
    ]
    words = "Which stimuli does a layer hold for alike? Pairs are ranked by 1 - Pearson's r, and the ranks compared."
    return section(
        "Representational similarity", words, "rsa.json", *parts, notes(summary["warnings"])
    )


def divergence_part(summary: dict[str, Any], pictures: list[Picture]) -> str:
    """The divergence by layer. Adds the picture to `pictures`."""
    first = summary["layers"][0]
    alt = f"Jensen-Shannon divergence by layer: layer {first['layer']} is {first['toLast']['mean']:.2f} nats from the last one."
    pictures.append(Picture("divergence", alt, draw_divergence(summary, "divergence")))
    heads = [
        "layer",
        "to the last",
        "from",
        "to",
        "to the one before",
        "entropy",
        "same best token",
    ]
    rows = [
        [
            *(
                number(value, 4)
                for value in (one["layer"], one["toLast"]["mean"], *one["toLast"]["interval"])
            ),
            number(one.get("toBefore", {}).get("mean"), 4),
            *(number(one[name]["mean"]) for name in ("entropy", "sameBest")),
        ]
        for one in summary["layers"]
    ]
    words = (
        "How far is what each layer would say, through the model's own norm and head (the logit lens), from what the "
        "last one says? An early layer's state need not be in the form that the head reads, so a large divergence "
        "doesn't mean that the layer knows nothing."
    )
    caption = f"Mean over {summary['rows']} rows, with the 95% interval of a bootstrap over {summary['groups']} groups."
    return section(
        "Logit lens",
        words,
        "divergence.json",
        show(pictures[-1], caption),
        table(heads, rows),
        notes(summary["warnings"]),
    )


PARTS = {
    "linear_probe": probe_part,
    "compare_layers": compare_part,
    "rsa": rsa_part,
    "divergence": divergence_part,
}


def make_page(summaries: list[dict[str, Any]]) -> tuple[str, dict[str, str]]:
    """The page of these summaries, as written, and its pictures as files of their own: their text by name."""
    pictures: list[Picture] = []
    parts = [PARTS[summary["tool"]](summary, pictures) for summary in summaries]
    states = summaries[0]["states"]
    model = states.get("model") if isinstance(states.get("model"), dict) else {}
    title = f"Probes of {model.get('name') or states['file']}"
    facts = (
        f"{states['stimuli']} stimuli, {len(states['layers'])} layers, {states['dim']} numbers each "
        f"({states.get('at', 'residual')}, positions: {states.get('positions', 'last')}); {states['file']}"
    )
    head = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">{MARK}'
        '<meta name="viewport" content="width=device-width">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">"
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>"
    )
    body = f"<body><main><h1>{escape(title)}</h1><p>{escape(facts)}</p>{''.join(parts)}</main></body></html>\n"
    return head + body, {f"{one.name}.svg": alone(one.svg, one.alt) for one in pictures}
