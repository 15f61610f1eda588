"""Pieces of HTML: pictures, tables, notes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from figures import escape

STYLE = """
:root { color-scheme: light dark; --ink: #222; --paper: #fff; --quiet: #666; --line: #ccc; --note: #fff4d6 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ddd; --paper: #15171a; --quiet: #9aa; --line: #444; --note: #3a3220 }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 50rem;
  margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere }
h1 { font-size: 1.6rem } h2 { font-size: 1.25rem; margin-top: 2.5rem }
figure { margin: 1rem 0; overflow-x: auto } svg { display: block; width: 100%; min-width: 20rem; height: auto }
figure.small svg { max-width: 26rem }
figcaption, .quiet { color: var(--quiet) }
.note { background: var(--note); padding: .5rem .8rem; border-radius: .3rem }
.wide { overflow-x: auto } table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums }
th, td { text-align: right; padding: .15rem .6rem; border-bottom: 1px solid var(--line) }
th:first-child, td:first-child { text-align: left } a { color: inherit }
"""


@dataclass(frozen=True)
class Picture:
    """A figure of the page and a file: its name, what it shows in words, its <svg>, and whether it is narrow."""

    name: str
    alt: str
    svg: str
    small: bool = False


def number(value: Any, digits: int = 3) -> str:
    """A number of a summary for a table; a dash for null."""
    if value is None:
        return "–"
    return str(value) if isinstance(value, int) else f"{value:.{digits}f}"


def table(heads: list[str], rows: list[list[str]], title: str = "The numbers") -> str:
    """Rows of texts as HTML, to be opened below a picture by its title."""
    top = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    inside = (
        f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
    )
    return f"<details><summary>{escape(title)}</summary>{inside}</details>"


def matrix_table(
    matrix: list[list[Any]], layers: list[list[int]], title: str = "The numbers"
) -> str:
    """A matrix of layers by layers as a table."""
    rows = [
        [f"layer {layer}", *(number(value) for value in line)]
        for layer, line in zip(layers[0], matrix)
    ]
    return table(["", *(f"layer {layer}" for layer in layers[1])], rows, title)


def show(picture: Picture, caption: str) -> str:
    """A picture with its caption."""
    head, rest = picture.svg.split(">", 1)
    svg = f'{head} role="img" aria-label="{escape(picture.alt)}">{rest}'
    kind = ' class="small"' if picture.small else ""
    return f"<figure{kind}>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def notes(texts: list[str]) -> str:
    """Warnings of a summary."""
    return "".join(f'<p class="note">{escape(text[0].upper() + text[1:])}.</p>' for text in texts)


def section(title: str, words: str, file: str, *parts: str) -> str:
    """A part of the page: what is measured, in words, and the name of the summary's file."""
    link = f'<p class="quiet">From <a href="{file}">{file}</a>.</p>'
    return (
        f"<section><h2>{escape(title)}</h2><p>{escape(words)}</p>{''.join(parts)}{link}</section>"
    )
