"""From the program's hidden states of the bundled model to figures. Skipped where the program isn't built."""

from __future__ import annotations

import json
import os
import subprocess
import unittest
from typing import Any

import numpy as np
from made import ROOT, TOOLS, InFolder

from divergence import lens_rows
from lens import Head
from states import read_labels, read_states

PROGRAM = os.path.join(ROOT, "build/release/sluice")
MODEL = os.path.join(ROOT, "web/app/public/models/stories-q8_0.gguf")
EXAMPLE = os.path.join(TOOLS, "examples/feelings.json")


@unittest.skipUnless(os.path.exists(PROGRAM), "build/release/sluice isn't there")
class Program(InFolder):
    def run_program(self, *args: str) -> str:
        """What the program prints."""
        return subprocess.run([PROGRAM, *args], check=True, capture_output=True, text=True).stdout

    def states_of(self, stimuli: str, name: str, *args: str) -> str:
        """Writes states of a file of stimuli. Returns their path."""
        out = self.path(name)
        self.run_program("probe", "-q", MODEL, "--stimuli", stimuli, "--out", out, *args)
        return out

    def test_the_example_has_states_labels_and_a_divergence(self) -> None:
        states = read_states(self.states_of(EXAMPLE, "feelings.npy"))
        self.assertEqual(states.values.shape, (384, 5, 192))
        self.assertEqual(len(read_labels(states, "feeling")[0]), 384)
        head = Head(MODEL)
        head.check_states(states)
        found = lens_rows(states.values[::16], head)
        means = found["toLast"].mean(axis=0)
        self.assertEqual(means[-1], 0.0)
        self.assertGreater(means[0], 0.2)

    def test_the_last_layer_says_what_the_program_says(self) -> None:
        states = read_states(self.states_of(EXAMPLE, "feelings.npy"))
        head = Head(MODEL)
        for row in (0, 100, 383):
            text = states.stimuli[row]["text"]
            said: Any = json.loads(
                self.run_program("logits", MODEL, "-p", text, "--json", "--top", "5")
            )
            log_p = head.log_probabilities(states.values[row : row + 1, -1])[0]
            top = said["positions"][-1]["top"]
            for id, expected in top:
                # The program multiplies whole numbers of 8 bits.
                self.assertAlmostEqual(log_p[id], expected, delta=0.1)
            self.assertEqual(len(top), 5)

    def test_states_of_all_tokens_end_with_those_of_the_last(self) -> None:
        lines = self.write("lines.txt", b"Once upon a time\nThe dog ran\n")
        last = read_states(self.states_of(lines, "last.npy", "--layers", "0,4"))
        all_tokens = self.states_of(lines, "all.npz", "--layers", "0,4", "--positions", "all")
        np.testing.assert_array_equal(read_states(all_tokens).values, last.values)
        self.assertEqual(last.layers, [0, 4])
        each = read_states(all_tokens, tokens="each")
        self.assertEqual(len(each.values), sum(len(one["tokens"]) for one in each.stimuli))
        mean = read_states(
            self.states_of(lines, "mean.npy", "--layers", "0,4", "--positions", "mean")
        )
        ours = read_states(all_tokens, tokens="mean")
        np.testing.assert_allclose(ours.values, mean.values, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
