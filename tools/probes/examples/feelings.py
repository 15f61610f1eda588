"""Writes stimuli of short stories that end before the word for a feeling.

    python3 tools/probes/examples/feelings.py > feelings.json

Each story is two sentences, "Lily broke her kite. She felt": the last token is the same in all, so what differs
in its state came from the words before. Fields of a stimulus:

    feeling   glad or sad, by what happened
    who       girl or boy, which the pronoun says
    coin      heads or tails, drawn at random: nothing in the text tells it
    group     the pair of verbs, one glad and one sad: a fold never has one without the other
    type      who has what, for control tasks: each of the 24 is in every group
"""

from __future__ import annotations

import json
import random

PAIRS = [
    ("lost", "found"),
    ("broke", "fixed"),
    ("dropped", "caught"),
    ("missed", "got"),
    ("forgot", "opened"),
    ("hurt", "saved"),
    ("burned", "won"),
    ("tore", "loved"),
]
NAMES = [("Lily", "girl"), ("Sara", "girl"), ("Tim", "boy"), ("Ben", "boy")]
THINGS = ["ball", "kite", "doll", "boat", "drum", "hat"]


def make_stimuli(seed: int) -> list[dict[str, str]]:
    """All combinations, 384, in the order of the lists. `seed`: of the coins."""
    coins = random.Random(seed)
    stimuli = []
    for sad, glad in PAIRS:
        for verb, feeling in ((sad, "sad"), (glad, "glad")):
            for name, who in NAMES:
                for thing in THINGS:
                    owner, pronoun = ("her", "She") if who == "girl" else ("his", "He")
                    stimuli.append(
                        {
                            "text": f"{name} {verb} {owner} {thing}. {pronoun} felt",
                            "feeling": feeling,
                            "who": who,
                            "coin": coins.choice(["heads", "tails"]),
                            "group": f"{sad}/{glad}",
                            "type": f"{name}, {thing}",
                        }
                    )
    return stimuli


def as_text(stimuli: list[dict[str, str]]) -> str:
    """JSON with one stimulus a line."""
    lines = [json.dumps(one) for one in stimuli]
    return "[\n  " + ",\n  ".join(lines) + "\n]\n"


if __name__ == "__main__":
    print(as_text(make_stimuli(1)), end="")
