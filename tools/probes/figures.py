"""Pictures of the tools' summaries, as SVG that takes the colour of the text around it."""

from __future__ import annotations

import io
import re
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

from command import MARK, printable  # noqa: E402

# Stands for the colour of the text until the SVG is written.
INK = "#010203"
BLUE, ORANGE, GREEN, GREY = "#3b82c4", "#c8701a", "#2f8f63", "#808080"
MOST_WRITTEN = 12  # layers up to which a map's cells have their numbers in them
TITLES = {"cca": "CCA", "svcca": "SVCCA", "pwcca": "PWCCA", "cka": "Linear CKA"}

plt.rcParams.update(
    {
        "svg.fonttype": "none",
        "svg.hashsalt": "probes",
        "text.parse_math": False,
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": 11,
        "legend.frameon": False,
        **{
            name: INK
            for name in ("text.color", "axes.edgecolor", "axes.labelcolor", "axes.titlecolor")
        },
        **{name: INK for name in ("xtick.color", "ytick.color")},
    }
)


def to_svg(figure: Any, name: str) -> str:
    """
    A figure as an <svg> element without a size of its own, its ids beginning with `name`, so that several can be
    in one page. The figure is closed.
    """
    out = io.StringIO()
    figure.savefig(
        out,
        format="svg",
        transparent=True,
        bbox_inches="tight",
        metadata={"Date": None, "Creator": None},
    )
    plt.close(figure)
    text = out.getvalue()
    text = text[text.index("<svg") :]
    head, rest = text.split(">", 1)
    head = re.sub(r' (width|height|version)="[^"]*"', "", head)
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", f"{head}>{rest}", flags=re.S)
    # Equal maps have images of one name, which nothing uses.
    text = re.sub(r'(<image [^>]*?) id="[^"]*"', r"\g<1>", text)
    text = re.sub(r'(\sid="|href="#|url\(#)', rf"\g<1>{name}-", text)
    return text.replace(INK, "currentColor").strip()


def alone(svg: str, alt: str) -> str:
    """An SVG as a file of its own, with a size, in the reader's light or dark. `alt`: what it shows."""
    style = (
        "<style>:root{color:#222;background:#fff}"
        "@media(prefers-color-scheme:dark){:root{color:#ddd;background:#15171a}}</style>"
    )
    head, rest = svg.split(">", 1)
    # The drawing's units are points, 4/3 of a pixel.
    width, height = (
        round(float(x) * 4 / 3) for x in head.split('viewBox="')[1].split('"')[0].split()[2:]
    )
    size = f'width="{width}" height="{height}" role="img"'
    # Blanks at the ends of lines, which matplotlib leaves, would be in every difference of two files.
    text = re.sub(r" +$", "", rest, flags=re.M)
    return f"{head} {size}>{MARK}{style}<title>{escape(alt)}</title>{text}\n"


def escape(text: str) -> str:
    """A text for HTML and XML; what can't be printed becomes a question mark."""
    text = printable(text)
    for letter, name in (
        ("&", "&amp;"),
        ("<", "&lt;"),
        (">", "&gt;"),
        ('"', "&quot;"),
        ("'", "&#39;"),
    ):
        text = text.replace(letter, name)
    return text


def layer_axis(axes: Any, layers: list[int]) -> None:
    """Names the horizontal axis, with a tick at some of the layers."""
    step = -(-len(layers) // 12)
    axes.set_xticks(layers[::step])
    axes.set_xlabel("layer")
    axes.grid(axis="y", color=GREY, alpha=0.25, linewidth=0.6)


def add_legend(axes: Any, title: str | None = None) -> None:
    """Names the lines, below the picture, so that it stays large on a phone."""
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncol=3, fontsize=9, title=title)


def finite(values: list[float | None]) -> list[float]:
    """For matplotlib, which leaves NaN out of a line."""
    return [float("nan") if value is None else value for value in values]


def draw_probe(probe: dict[str, Any], name: str) -> str:
    """A label's accuracy by layer, with what chance, the majority and the control task give."""
    layers = [one["layer"] for one in probe["layers"]]
    figure, axes = plt.subplots(figsize=(6.4, 3.4))
    if "p" in probe["layers"][0]:
        means = [one["permuted"]["mean"] for one in probe["layers"]]
        most = [one["permuted"]["most"] for one in probe["layers"]]
        axes.fill_between(
            layers,
            means,
            most,
            color=GREY,
            alpha=0.3,
            linewidth=0,
            label="permuted labels, mean to most",
        )
    low, high = zip(*(one["interval"] for one in probe["layers"]))
    axes.fill_between(layers, low, high, color=BLUE, alpha=0.2, linewidth=0)
    axes.plot(
        layers,
        [one["accuracy"] for one in probe["layers"]],
        color=BLUE,
        marker="o",
        label="accuracy, 95% interval",
    )
    axes.plot(
        layers,
        [one["macroF1"] for one in probe["layers"]],
        color=GREEN,
        marker="s",
        markersize=4,
        linestyle=":",
        label="macro F1",
    )
    if "control" in probe["layers"][0]:
        axes.plot(
            layers,
            [one["control"] for one in probe["layers"]],
            color=ORANGE,
            marker="^",
            linestyle="-.",
            label="control task",
        )
    axes.axhline(probe["majority"], color=INK, linestyle="--", linewidth=0.9, label="majority")
    axes.set_ylim(0, 1.02)
    axes.set_title(printable(f"Linear probe: {probe['label']}"))
    layer_axis(axes, layers)
    add_legend(axes)
    return to_svg(figure, name)


def draw_map(
    axes: Any, matrix: list[list[float | None]], layers: list[list[int]], title: str, low: float
) -> None:
    """A matrix of layers by layers, from `low` to 1; what is null stays empty."""
    image = axes.imshow(
        [finite(row) for row in matrix],
        cmap="viridis",
        vmin=low,
        vmax=1,
        origin="lower",
        interpolation="nearest",
    )
    for side, own, ticks in (("x", layers[1], axes.set_xticks), ("y", layers[0], axes.set_yticks)):
        step = -(-len(own) // 12)
        ticks(range(0, len(own), step), own[::step])
    axes.set_xlabel("layer")
    axes.set_title(title)
    if max(len(layers[0]), len(layers[1])) <= MOST_WRITTEN:
        for i, row in enumerate(matrix):
            for j, value in enumerate(row):
                text = "–" if value is None else f"{value:.2f}"
                dark = value is not None and (value - low) / (1 - low) < 0.6
                colour = INK if value is None else "#ffffff" if dark else "#000000"
                axes.text(j, i, text, ha="center", va="center", fontsize=8, color=colour)
    else:
        axes.figure.colorbar(image, ax=axes, fraction=0.046)


def measures_with_numbers(summary: dict[str, Any]) -> list[str]:
    """The measures of compare_layers that have a number at all; CKA in any case."""
    return [
        name
        for name, one in summary["measures"].items()
        if name == "cka" or any(value is not None for row in one["values"] for value in row)
    ]


def draw_measures(summary: dict[str, Any], name: str) -> str:
    """The matrices of measures_with_numbers, two in a row."""
    known = {one: summary["measures"][one]["values"] for one in measures_with_numbers(summary)}
    rows = -(-len(known) // 2)
    figure, grid = plt.subplots(
        rows, 2, figsize=(7.2, 3.5 * rows), layout="constrained", squeeze=False
    )
    for axes in grid.flat[len(known) :]:
        axes.remove()
    for axes, (measure, matrix) in zip(grid.flat, known.items()):
        draw_map(axes, matrix, summary["layers"], TITLES[measure], 0.0)
        axes.set_ylabel("layer")
    return to_svg(figure, name)


def draw_rsa_map(summary: dict[str, Any], name: str) -> str:
    """RSA's matrix of layers by layers."""
    figure, axes = plt.subplots(figsize=(4.2, 3.8), layout="constrained")
    values = [value for row in summary["correlations"] for value in row if value is not None]
    draw_map(axes, summary["correlations"], summary["layers"], "RSA: Spearman", min([0.0, *values]))
    axes.set_ylabel("layer")
    return to_svg(figure, name)


def draw_lines(lines: list[tuple[str, list[dict[str, Any]]]], title: str, name: str) -> str:
    """A correlation by layer for each of several names: `correlation`, and its `permuted` mean as a dotted line."""
    figure, axes = plt.subplots(figsize=(6.4, 3.2))
    for (label, layers), colour, marker in zip(
        lines, (BLUE, ORANGE, GREEN, GREY, INK) * 40, "os^Dv" * 40
    ):
        numbers = [one["layer"] for one in layers]
        axes.plot(
            numbers,
            finite([one["correlation"] for one in layers]),
            color=colour,
            marker=marker,
            label=printable(label),
        )
        chance = [one.get("permuted") for one in layers]
        chance = [one.get("mean") if isinstance(one, dict) else one for one in chance]
        axes.plot(numbers, finite(chance), color=colour, linestyle=":", linewidth=1)
    layer_axis(axes, numbers)
    axes.set_title(title)
    add_legend(axes, "dotted: permuted")
    return to_svg(figure, name)


def draw_divergence(summary: dict[str, Any], name: str) -> str:
    """The divergence to the last layer and to the layer before, and the share of the same best token."""
    layers = [one["layer"] for one in summary["layers"]]
    figure, axes = plt.subplots(figsize=(6.4, 3.4))
    for key, colour, marker, text in (
        ("toLast", BLUE, "o", "to the last layer"),
        ("toBefore", ORANGE, "s", "to the layer before"),
    ):
        own = [one for one in summary["layers"] if key in one]
        numbers = [one["layer"] for one in own]
        low, high = zip(*(one[key]["interval"] for one in own)) if own else ((), ())
        axes.fill_between(numbers, low, high, color=colour, alpha=0.2, linewidth=0)
        axes.plot(
            numbers, [one[key]["mean"] for one in own], color=colour, marker=marker, label=text
        )
    axes.axhline(summary["most"], color=INK, linestyle="--", linewidth=0.9, label="ln 2, the most")
    axes.set_ylabel("nats")
    axes.set_title("Jensen-Shannon divergence by the logit lens")
    layer_axis(axes, layers)
    add_legend(axes)
    return to_svg(figure, name)
