"""The linear probe on states whose answer is known, and against scikit-learn's own functions."""

from __future__ import annotations

import argparse
import unittest
from typing import Any

import numpy as np
from made import InFolder, make_stimuli, plant
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score, permutation_test_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from command import Problem
from folds import Permuter, bootstrap_interval, choose_folds, p_value
from linear_probe import control_labels, probe_label
from states import read_states


def options(**more: Any) -> argparse.Namespace:
    """The options of probe_label."""
    known = {"group": None, "type": None, "folds": 5, "permutations": 19, "controls": 3}
    return argparse.Namespace(**{**known, "strength": 1.0, "seed": 1, **more})


class LinearProbe(InFolder):
    def probe(
        self, values: np.ndarray, stimuli: list[dict[str, Any]], **more: Any
    ) -> dict[str, Any]:
        states = read_states(self.write_states(values, stimuli))
        return probe_label(states, "label", options(**more))

    def test_a_direction_at_one_layer_is_found_there_and_nowhere_else(self) -> None:
        stimuli = make_stimuli(160)
        values = np.random.default_rng(1).normal(size=(160, 4, 24))
        plant(values, stimuli, 2, 1.0, seed=2)
        found = self.probe(values, stimuli)
        self.assertEqual(found["best"]["layer"], 2)
        self.assertEqual(found["best"]["p"], 1 / 20)
        for one in found["layers"]:
            if one["layer"] == 2:
                self.assertGreater(one["accuracy"], 0.95)
                self.assertGreater(one["macroF1"], 0.95)
                self.assertEqual(one["p"], 1 / 20)
                self.assertGreater(one["selectivity"], 0.3)
            else:
                self.assertLess(abs(one["accuracy"] - 0.5), 0.12)
                self.assertGreater(one["p"], 0.05)
                self.assertLess(abs(one["selectivity"]), 0.12)
                self.assertLess(abs(one["permuted"]["mean"] - 0.5), 0.05)
        self.assertEqual(found["warnings"], [])
        self.assertEqual(found["permutations"]["kind"], "within")

    def test_what_a_probe_learns_of_the_types_alone_has_no_selectivity(self) -> None:
        # The states hold the type, and the label is a class of types.
        stimuli = make_stimuli(160, per_group=20)
        types = np.random.default_rng(1).normal(size=(20, 1, 24))
        values = np.stack([types[i % 20] for i in range(160)])
        found = self.probe(values, stimuli, permutations=0)["layers"][0]
        self.assertEqual(found["accuracy"], 1.0)
        self.assertLess(abs(found["selectivity"]), 0.02)

    def test_what_a_group_shares_is_not_learned_from_it(self) -> None:
        # Each group has a direction and one class: with the group in training, the label would be known.
        stimuli = make_stimuli(160)
        random = np.random.default_rng(1)
        for i, stimulus in enumerate(stimuli):
            stimulus["label"] = f"class {i // 4 % 2}"
        groups = random.normal(size=(40, 1, 64))
        values = np.stack([groups[i // 4] for i in range(160)])
        values += 0.1 * random.normal(size=values.shape)
        grouped = self.probe(values, stimuli)
        self.assertLess(grouped["layers"][0]["accuracy"], 0.7)
        self.assertGreater(grouped["layers"][0]["p"], 0.05)
        self.assertEqual(grouped["permutations"]["kind"], "groups")
        for i, stimulus in enumerate(stimuli):
            stimulus["group"] = i
        self.assertGreater(
            self.probe(values, stimuli, permutations=0)["layers"][0]["accuracy"], 0.95
        )

    def test_says_what_a_reader_must_know(self) -> None:
        stimuli = make_stimuli(40)
        values = np.random.default_rng(1).normal(size=(40, 1, 64))
        (few,) = self.probe(values, stimuli, permutations=0)["warnings"]
        self.assertIn("40 rows are fewer than the 64 dimensions", few)
        values = values[:, :, :8]
        for stimulus in stimuli:
            stimulus["type"] = "one"
        one = self.probe(values, stimuli, permutations=0)
        self.assertIn("the control task was left out", one["warnings"][0])
        self.assertNotIn("selectivity", one["layers"][0])
        for i, stimulus in enumerate(stimuli):
            stimulus["type"] = f"type {i}"
        self.assertIn(
            "only 0% of the tested rows", self.probe(values, stimuli, permutations=0)["warnings"][0]
        )
        # One group of forty has two classes.
        for i, stimulus in enumerate(stimuli):
            stimulus |= {"group": f"group {i // 2}", "label": f"class {i // 2 % 2}", "type": i % 7}
        stimuli[0]["label"] = "class 1"
        self.assertIn(
            "only 5% of the rows", self.probe(values, stimuli, permutations=0)["warnings"][0]
        )

    def test_refuses_labels_that_cannot_be_tested(self) -> None:
        values = np.zeros((16, 1, 2))
        stimuli = make_stimuli(16)
        for stimulus in stimuli[:4]:
            stimulus["label"] = "rare"
        with self.assertRaisesRegex(Problem, "'rare' is in one group only"):
            self.probe(values, stimuli)
        for stimulus in stimuli:
            stimulus["label"] = "one"
        with self.assertRaisesRegex(Problem, "'label' has 1 classes"):
            self.probe(values, stimuli)

    def test_rows_without_a_label_are_left_out(self) -> None:
        stimuli = make_stimuli(48)
        for stimulus in stimuli[:8]:
            stimulus["label"] = None
        found = self.probe(
            np.random.default_rng(1).normal(size=(48, 1, 4)), stimuli, permutations=0
        )
        self.assertEqual((found["rows"], found["groups"]), (40, 10))


class AgainstScikitLearn(InFolder):
    """The same scores and p-values as its own functions, with the same seeds."""

    def check(self, stimuli: list[dict[str, Any]], more: dict[str, Any]) -> None:
        values = np.random.default_rng(1).normal(size=(len(stimuli), 1, 6))
        plant(values, stimuli, 0, 0.25, seed=2)
        states = read_states(self.write_states(values, stimuli))
        found = probe_label(states, "label", options(controls=0, **more))
        labels = np.array([stimulus["label"] for stimulus in stimuli])
        groups = np.array([stimulus["group"] for stimulus in stimuli])
        classes = np.unique(labels)
        number = np.searchsorted(classes, labels)
        splitter = choose_folds(number, classes, groups, 5, 1).splitter()
        probe = make_pipeline(StandardScaler(), LogisticRegression())
        x = states.values[:, 0].astype(np.float64)
        scores = cross_val_score(probe, x, labels, groups=groups, cv=splitter)
        self.assertAlmostEqual(found["layers"][0]["accuracy"], scores.mean(), places=12)
        own = groups if len(np.unique(groups)) < len(groups) else None
        score, permuted, p = permutation_test_score(
            probe, x, labels, groups=own, cv=splitter, n_permutations=19, random_state=1
        )
        self.assertAlmostEqual(found["layers"][0]["accuracy"], score, places=12)
        self.assertAlmostEqual(found["layers"][0]["permuted"]["mean"], permuted.mean(), places=12)
        self.assertAlmostEqual(found["layers"][0]["permuted"]["most"], permuted.max(), places=12)
        self.assertAlmostEqual(found["layers"][0]["p"], p, places=12)

    def test_with_groups(self) -> None:
        self.check(make_stimuli(60, per_group=6), {})

    def test_with_three_classes(self) -> None:
        self.check(make_stimuli(60, classes=3, per_group=6), {})

    def test_without_groups(self) -> None:
        self.check(make_stimuli(60, per_group=1), {})


class Parts(unittest.TestCase):
    def test_permutations_stay_in_their_groups(self) -> None:
        labels = np.array([0, 1, 0, 1, 1, 1, 0, 0])
        groups = np.array([0, 0, 1, 1, 2, 2, 3, 3])
        permuter = Permuter(labels, groups, 1)
        self.assertEqual((permuter.kind, permuter.free), ("within", 0.5))
        orders = [permuter.next() for _ in range(50)]
        for order in orders:
            for group in range(4):
                self.assertEqual(sorted(order[groups == group]), sorted(labels[groups == group]))
        self.assertEqual(len({order.tobytes() for order in orders}), 4)

    def test_whole_groups_change_places_where_each_has_one_class(self) -> None:
        labels = np.array([0, 0, 0, 1, 1, 0])
        groups = np.array([0, 0, 0, 1, 1, 2])
        permuter = Permuter(labels, groups, 1)
        self.assertEqual(permuter.kind, "groups")
        seen = {permuter.next().tobytes() for _ in range(60)}
        wanted = [[0, 0, 0, 1, 1, 0], [1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1]]
        self.assertEqual(seen, {np.array(order).tobytes() for order in wanted})

    def test_p_counts_the_real_score(self) -> None:
        self.assertEqual(p_value(1.0, np.zeros(9)), 0.1)
        self.assertEqual(p_value(0.5, np.array([0.5, 0.4, 0.6])), 0.75)

    def test_the_bootstrap_draws_whole_groups(self) -> None:
        groups = np.repeat(np.arange(25), 40)
        values = (groups % 2).astype(float)
        low, high = bootstrap_interval(values, groups, 1)
        # The standard error of 25 groups, not of 1,000 rows.
        self.assertAlmostEqual((high - low) / 2, 1.96 * 0.5 / 5, delta=0.04)

    def test_control_labels_follow_the_types_and_the_classes(self) -> None:
        labels = np.array([0, 1] * 30)
        types = np.arange(60) % 6
        seen = set()
        for seed in range(20):
            control = control_labels(types, labels, np.random.default_rng(seed))
            by_type = [set(control[types == one]) for one in range(6)]
            self.assertTrue(all(len(one) == 1 for one in by_type))
            self.assertEqual(control.sum(), 30)
            seen.add(control.tobytes())
        self.assertGreater(len(seen), 5)


if __name__ == "__main__":
    unittest.main()
