"""The logit lens and its divergence: made models, scipy's own, and recorded answers where they are at hand."""

from __future__ import annotations

import json
import os
import unittest
from typing import Any

import numpy as np
from made import SHARED, InFolder, make_gguf, make_stimuli
from scipy.spatial.distance import jensenshannon
from scipy.special import log_softmax
from scipy.stats import entropy as scipy_entropy

from command import Problem
from divergence import diverge, entropy, jensen_shannon, lens_rows
from gguf import Gguf
from lens import Head
from states import read_states

DIM, VOCAB = 32, 40


def tensors(kind: int, seed: int, own: bool = False) -> dict[str, tuple[np.ndarray, int]]:
    """The final norm and the head of a tiny model; `own`: a head beside the table of tokens."""
    random = np.random.default_rng(seed)
    made = {
        "output_norm.weight": (random.normal(1, 0.1, DIM), 0),
        "token_embd.weight": (random.normal(size=(VOCAB, DIM)), kind),
    }
    if own:
        made["output.weight"] = (random.normal(size=(VOCAB, DIM)), kind)
    return made


def fields(architecture: str, **more: Any) -> dict[str, Any]:
    """The fields that the lens reads."""
    norm = "layer_norm_epsilon" if architecture == "gpt2" else "layer_norm_rms_epsilon"
    return {
        "general.architecture": architecture,
        f"{architecture}.block_count": 3,
        f"{architecture}.attention.{norm}": 1e-5,
        **more,
    }


class Divergence(unittest.TestCase):
    def test_is_the_square_of_scipys(self) -> None:
        random = np.random.default_rng(1)
        p, q = (log_softmax(3 * random.normal(size=(20, 50)), axis=1) for _ in range(2))
        expected = jensenshannon(np.exp(p), np.exp(q), axis=1) ** 2
        np.testing.assert_allclose(jensen_shannon(p, q), expected, atol=1e-12)
        np.testing.assert_allclose(entropy(p), scipy_entropy(np.exp(p), axis=1), atol=1e-12)

    def test_the_ends(self) -> None:
        with np.errstate(divide="ignore"):
            p, q = np.log([[1.0, 0.0, 0.0]]), np.log([[0.0, 0.5, 0.5]])
        with np.errstate(invalid="ignore"):
            self.assertEqual(jensen_shannon(p, p)[0], 0.0)
            self.assertAlmostEqual(jensen_shannon(p, q)[0], np.log(2), places=15)
            self.assertEqual(entropy(p)[0], 0.0)


class Lens(InFolder):
    def head(self, architecture: str, made: dict[str, tuple[np.ndarray, int]], **more: Any) -> Head:
        return Head(
            self.write(
                "model.gguf", make_gguf(fields(architecture, **more), made, vocabulary=VOCAB)
            )
        )

    def test_rms_norm_with_a_tied_head_and_an_own_one(self) -> None:
        rows = np.random.default_rng(3).normal(size=(5, DIM))
        for own in (False, True):
            made = tensors(0, 1, own)
            x = rows / np.sqrt(np.mean(rows**2, axis=1, keepdims=True) + 1e-5)
            table = made["output.weight" if own else "token_embd.weight"][0]
            expected = x * made["output_norm.weight"][0] @ table.T
            np.testing.assert_allclose(self.head("llama", made).logits(rows), expected, atol=1e-5)

    def test_layer_norm(self) -> None:
        rows = np.random.default_rng(3).normal(2, 1, size=(5, DIM))
        made = tensors(0, 1)
        made["output_norm.bias"] = (np.linspace(-1, 1, DIM), 0)
        x = (rows - rows.mean(axis=1, keepdims=True)) / np.sqrt(
            rows.var(axis=1, keepdims=True) + 1e-5
        )
        x = x * made["output_norm.weight"][0] + made["output_norm.bias"][0]
        expected = x @ made["token_embd.weight"][0].T
        np.testing.assert_allclose(self.head("gpt2", made).logits(rows), expected, atol=1e-5)

    def test_caps_and_the_names_of_families(self) -> None:
        rows = np.random.default_rng(3).normal(size=(5, DIM))
        made = tensors(0, 1)
        plain = self.head("gemma3", made).logits(rows)
        cap = {"gemma3.final_logit_softcapping": 2.5}
        capped = self.head("gemma3", made, **cap).logits(rows)
        np.testing.assert_allclose(capped, 2.5 * np.tanh(plain / 2.5), atol=1e-5)
        usual = self.head("gemma4", made).logits(rows)
        np.testing.assert_allclose(usual, 30 * np.tanh(plain / 30), atol=1e-5)
        made["token_embd_norm.weight"] = made.pop("output_norm.weight")
        np.testing.assert_allclose(self.head("lfm2", made).logits(rows), plain, atol=1e-5)

    def test_types_of_weights(self) -> None:
        rows = np.random.default_rng(3).normal(size=(5, DIM))
        exact = self.head("qwen3", tensors(0, 1)).logits(rows)
        for kind, most in ((1, 0.02), (8, 0.2)):
            near = self.head("qwen3", tensors(kind, 1)).logits(rows)
            self.assertGreater(np.abs(near - exact).max(), 0)
            self.assertLess(np.abs(near - exact).max(), most)

    def test_divergence_of_states(self) -> None:
        head = self.head("llama", tensors(0, 1))
        values = np.random.default_rng(3).normal(size=(12, 3, DIM))
        values[:, 1] = values[:, 2]
        found = diverge(read_states(self.write_states(values, make_stimuli(12))), head, None, 1)
        first, same, last = found["layers"]
        for one in (same["toLast"], last["toLast"], last["toBefore"]):
            self.assertLess(one["mean"], 1e-15)
        self.assertEqual(same["sameBest"]["mean"], 1.0)
        p, q = (np.exp(log_softmax(head.logits(values[:, i]), axis=1)) for i in (0, 2))
        self.assertAlmostEqual(
            first["toLast"]["mean"], np.mean(jensenshannon(p, q, axis=1) ** 2), places=6
        )
        low, high = first["toLast"]["interval"]
        self.assertTrue(low < first["toLast"]["mean"] < high)

    def test_refuses_states_that_are_not_the_models(self) -> None:
        head = self.head("llama", tensors(0, 1))
        values, stimuli = np.zeros((4, 3, DIM)), make_stimuli(4)
        wrong = {
            "residual stream": {"at": "ffn"},
            "mean of several tokens": {"positions": "mean"},
            "isn't the model": {"model": {"architecture": "gpt2"}},
            "another size": {"model": {"architecture": "llama", "bytes": 5}},
            "the last layer, 2; the states have layers up to 3": {"layers": [0, 1, 3]},
        }
        for message, more in wrong.items():
            states = read_states(self.write_states(values, stimuli, **more))
            with self.subTest(message), self.assertRaisesRegex(Problem, message) as caught:
                diverge(states, head, None, 1)
            self.assertEqual(caught.exception.status, 2)

    def test_refuses_models_that_it_does_not_know(self) -> None:
        made = tensors(0, 1)
        unknown = {"general.architecture": "rwkv7"}
        wrong = [
            ("'rwkv7'", unknown, made),
            ("Hadamard", {"prism.hadamard.version": 1}, made),
            ("one file of several", {"split.count": 2}, made),
            (
                "no tensor 'output_norm.weight'",
                {},
                {"token_embd.weight": made["token_embd.weight"]},
            ),
            ("don't fit", {}, {**made, "output_norm.weight": (np.ones(DIM + 1), 0)}),
            ("type 12", {}, {**made, "output.weight": (np.zeros((VOCAB, DIM)), 12)}),
        ]
        for message, more, own in wrong:
            with self.subTest(message), self.assertRaisesRegex(Problem, message) as caught:
                self.head("llama", own, **more)
            self.assertEqual(caught.exception.status, 3)

    def test_a_file_that_is_cut_anywhere_is_refused(self) -> None:
        whole = make_gguf(fields("llama"), tensors(8, 1), vocabulary=3)
        path = self.write("whole.gguf", whole)
        self.assertEqual(Gguf(path).tensor("token_embd.weight").shape, (VOCAB, DIM))
        for length in range(0, len(whole) - 32, 13):
            with self.assertRaises(Problem) as caught:
                Head(self.write("cut.gguf", whole[:length]))
            self.assertEqual(caught.exception.status, 3)

    def test_damaged_bytes_end_in_a_message_or_a_head(self) -> None:
        whole = bytearray(make_gguf(fields("llama"), tensors(8, 1), vocabulary=3))
        for place in range(4, 480, 3):
            damaged = bytearray(whole)
            damaged[place] ^= 0xFF
            try:
                Head(self.write("damaged.gguf", bytes(damaged)))
            except Problem as problem:
                self.assertEqual(problem.status, 3)


class Recorded(unittest.TestCase):
    """Divergences and likeliest tokens of four models, computed by other programs."""

    def test_recorded_answers(self) -> None:
        file = os.path.join(SHARED, "hidden.json")
        if not os.path.exists(file):
            self.skipTest("../shared/models/hidden.json isn't there")
        with open(file, encoding="utf-8") as recorded:
            answers = json.load(recorded)
        self.assertEqual(len(answers), 4)
        for name, model in answers.items():
            head = Head(os.path.join(SHARED, "tiny", name))
            self.assertEqual((head.n_layers, head.dim), (model["layers"], model["dim"]))
            for case in model["cases"]:
                values = np.array(case["hidden"], dtype=np.float32)[None]
                found = lens_rows(values, head)["toLast"][0]
                np.testing.assert_allclose(found, case["lens"]["js_to_last"], atol=2e-6)
                for layer, top in enumerate(case["lens"]["top"]):
                    log_p = head.log_probabilities(values[:, layer])[0]
                    self.assertEqual([id for id, _ in top], np.argsort(-log_p)[:3].tolist())
                    for id, expected in top:
                        self.assertAlmostEqual(log_p[id], expected, places=4)


if __name__ == "__main__":
    unittest.main()
