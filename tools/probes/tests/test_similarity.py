"""CCA, SVCCA, PWCCA, CKA and RSA on states whose answer is known, and against scikit-learn and scipy."""

from __future__ import annotations

import argparse
import unittest
from typing import Any

import numpy as np
from made import InFolder, make_stimuli, plant
from scipy.linalg import sqrtm
from scipy.spatial.distance import pdist, squareform
from scipy.stats import ortho_group, spearmanr
from sklearn.cross_decomposition import CCA

from command import Problem
from compare_layers import compare_states
from rsa import Ranks, compare_pairs, correlate, dissimilarities, token_dissimilarities
from similarity import Directions, canonical, cca, linear_cka, pwcca, svcca
from states import read_states

random = np.random.default_rng(5)


def noise(n: int, dim: int) -> np.ndarray:
    """Independent normal numbers, [n, dim]."""
    return random.normal(size=(n, dim))


def both(measure: Any, x: np.ndarray, y: np.ndarray) -> float:
    """A measure of two matrices."""
    return measure(Directions(x), Directions(y))


class Canonical(unittest.TestCase):
    def test_a_rotated_copy_is_the_same(self) -> None:
        x = noise(400, 12)
        turned = 3 * x @ ortho_group.rvs(12, random_state=1) + 7
        for measure in (cca, svcca, pwcca, linear_cka):
            self.assertAlmostEqual(both(measure, x, turned), 1.0, places=9)

    def test_cca_is_blind_to_any_invertible_map_and_cka_is_not(self) -> None:
        x = noise(400, 12)
        mapped = x @ (noise(12, 12) * np.geomspace(0.2, 5, 12))
        for measure in (cca, pwcca):
            self.assertAlmostEqual(both(measure, x, mapped), 1.0, places=9)
        self.assertLess(both(linear_cka, x, mapped), 0.9)

    def test_independent_states_have_little_in_common(self) -> None:
        x, y = noise(4000, 12), noise(4000, 12)
        for measure in (cca, svcca, pwcca):
            self.assertLess(both(measure, x, y), 0.06)
        self.assertLess(both(linear_cka, x, y), 0.01)

    def test_too_few_rows_give_none(self) -> None:
        x, y = noise(24, 12), noise(24, 12)
        for measure in (cca, svcca, pwcca):
            self.assertIsNone(both(measure, noise(20, 12), noise(20, 12)))
            self.assertIsNotNone(both(measure, noise(25, 12), noise(25, 12)))
        # Twelve and twelve directions in a space of 23 share one whatever they hold.
        self.assertAlmostEqual(canonical(Directions(x).u, Directions(y).u)[0], 1.0, places=9)

    def test_svcca_leaves_out_directions_of_little_variance(self) -> None:
        shared = noise(2000, 3)
        x = np.hstack([10 * shared, 0.1 * noise(2000, 9)])
        y = np.hstack([10 * shared, 0.1 * noise(2000, 9)])
        self.assertGreater(both(svcca, x, y), 0.999)
        self.assertEqual(Directions(x).largest().shape, (2000, 3))
        self.assertLess(both(cca, x, y), 0.4)
        # PWCCA weighs by what each direction holds: 3 of 10 and 9 of 0.1 for each column.
        self.assertGreater(both(pwcca, x, y), 0.9)

    def test_canonical_correlations_are_scikit_learns(self) -> None:
        x = noise(300, 5)
        y = np.hstack([x[:, :2] + noise(300, 2), noise(300, 2)])
        model = CCA(n_components=4, scale=False, max_iter=5000, tol=1e-12).fit(x, y)
        a, b = model.transform(x, y)
        expected = [abs(np.corrcoef(a[:, i], b[:, i])[0, 1]) for i in range(4)]
        np.testing.assert_allclose(canonical(Directions(x).u, Directions(y).u), expected, atol=1e-6)

    def test_canonical_correlations_are_those_of_the_definition(self) -> None:
        x = noise(300, 5)
        y = x[:, :3] + noise(300, 3)
        xc, yc = x - x.mean(axis=0), y - y.mean(axis=0)
        whitened = np.linalg.inv(sqrtm(xc.T @ xc)) @ (xc.T @ yc) @ np.linalg.inv(sqrtm(yc.T @ yc))
        expected = np.linalg.svd(whitened, compute_uv=False)
        np.testing.assert_allclose(canonical(Directions(x).u, Directions(y).u), expected, atol=1e-9)
        self.assertAlmostEqual(both(cca, x, y), expected.mean(), places=9)
        cka = np.sum((yc.T @ xc) ** 2) / np.linalg.norm(xc.T @ xc) / np.linalg.norm(yc.T @ yc)
        self.assertAlmostEqual(both(linear_cka, x, y), cka, places=9)

    def test_pwcca_weighs_the_side_with_fewer_directions(self) -> None:
        x = noise(300, 3) * [5.0, 1.0, 0.2]
        y = np.hstack([x[:, :1] + noise(300, 1), noise(300, 4)])
        # By hand: canonical variates of x, and how much of x's columns each holds.
        xc, yc = x - x.mean(axis=0), y - y.mean(axis=0)
        qx, qy = np.linalg.qr(xc)[0], np.linalg.qr(yc)[0]
        turn, rho, _ = np.linalg.svd(qx.T @ qy, full_matrices=False)
        variates = qx @ turn
        weights = [sum(abs(variates[:, i] @ xc[:, j]) for j in range(3)) for i in range(3)]
        expected = np.average(rho, weights=weights)
        self.assertAlmostEqual(both(pwcca, x, y), expected, places=9)
        self.assertAlmostEqual(both(pwcca, y, x), expected, places=9)

    def test_states_without_variance_have_no_measure(self) -> None:
        x = np.ones((40, 3))
        for measure in (cca, svcca, pwcca, linear_cka):
            self.assertIsNone(both(measure, x, noise(40, 3)))


class CompareLayers(InFolder):
    options = argparse.Namespace(group=None, shuffles=2, permutations=19, seed=1)

    def test_matrices_chance_and_labels(self) -> None:
        stimuli = make_stimuli(240)
        values = random.normal(size=(240, 3, 8))
        values[:, 1] = values[:, 0] @ ortho_group.rvs(8, random_state=1)
        plant(values, stimuli, 2, 1.0, seed=2)
        states = read_states(self.write_states(values, stimuli))
        found = compare_states(states, None, ["label"], self.options)
        for name in ("cca", "svcca", "pwcca", "cka"):
            matrix = np.array(found["measures"][name]["values"], dtype=float)
            np.testing.assert_allclose(np.diag(matrix), 1.0, atol=1e-9)
            self.assertGreater(matrix[0, 1], 0.999)
            self.assertLess(matrix[0, 2], 0.3)
            self.assertLess(np.max(found["measures"][name]["chance"]), 0.3)
        first, _, last = found["labels"][0]["layers"]
        self.assertGreater(first["p"], 0.05)
        self.assertEqual(last["p"], 0.05)
        self.assertGreater(last["correlation"], 0.8)
        self.assertLess(last["permuted"], 0.3)

    def test_each_layer_weighs_its_own_directions_in_its_row(self) -> None:
        values = random.normal(size=(120, 2, 4))
        values[:, 1, 0] = 9 * values[:, 0, 0]
        states = read_states(self.write_states(values, make_stimuli(120)))
        matrix = compare_states(states, None, [], self.options)["measures"]["pwcca"]["values"]
        x, y = (Directions(states.values[:, i]) for i in (0, 1))
        self.assertAlmostEqual(matrix[0][1], pwcca(x, y), places=12)
        self.assertAlmostEqual(matrix[1][0], pwcca(y, x), places=12)
        self.assertGreater(matrix[1][0], matrix[0][1] + 0.1)

    def test_two_files(self) -> None:
        stimuli = make_stimuli(120)
        values = random.normal(size=(120, 2, 4))
        x = read_states(self.write_states(values, stimuli))
        turned = values[:, ::-1] @ ortho_group.rvs(4, random_state=1)
        y = read_states(self.write_states(turned, stimuli, name="other"))
        matrix = np.array(compare_states(x, y, [], self.options)["measures"]["svcca"]["values"])
        np.testing.assert_allclose(np.diag(matrix[:, ::-1]), 1.0, atol=1e-6)
        self.assertLess(np.diag(matrix).max(), 0.4)
        other = make_stimuli(120)
        other[7]["text"] = "another"
        z = read_states(self.write_states(values, other, name="third"))
        with self.assertRaisesRegex(Problem, "other stimuli"):
            compare_states(x, z, [], self.options)

    def test_says_where_rows_are_too_few(self) -> None:
        values = random.normal(size=(12, 2, 8))
        states = read_states(self.write_states(values, make_stimuli(12)))
        found = compare_states(states, None, [], self.options)
        self.assertEqual(found["measures"]["cca"]["values"], [[None, None], [None, None]])
        self.assertIn("12 rows are too few for CCA", found["warnings"][0])


class Rsa(InFolder):
    options = argparse.Namespace(most=500, permutations=19, seed=1)

    def test_dissimilarities_and_ranks_are_scipys(self) -> None:
        x, y = noise(30, 6), noise(30, 6)
        x[3] = x[4]  # a tie
        own = [dissimilarities(one) for one in (x, y)]
        np.testing.assert_allclose(own[0], squareform(pdist(x, "correlation")), atol=1e-12)
        (found,) = correlate([Ranks(own[0])], Ranks(own[1]), [])
        expected = spearmanr(pdist(x, "correlation"), pdist(y, "correlation"))[0]
        self.assertAlmostEqual(found["correlation"], expected, places=12)

    def test_stimuli_are_permuted_as_rows_and_columns(self) -> None:
        x, y = (dissimilarities(noise(9, 4)) for _ in range(2))
        order = random.permutation(9)
        (found,) = correlate([Ranks(x)], Ranks(y), [order])
        upper = np.triu_indices(9, 1)
        expected = spearmanr(x[upper], y[np.ix_(order, order)][upper])[0]
        self.assertAlmostEqual(found["permuted"]["most"], expected, places=12)

    def test_shared_tokens(self) -> None:
        found = token_dissimilarities([[1, 2, 3, 3], [3, 4], [9]])
        np.testing.assert_allclose(found, [[0, 0.75, 1], [0.75, 0, 1], [1, 1, 0]])

    def test_a_label_is_found_where_it_is(self) -> None:
        stimuli = make_stimuli(60)
        values = random.normal(size=(60, 3, 24))
        values[:, 1] = values[:, 0] + 0.3 * values[:, 1]
        plant(values, stimuli, 2, 1.0, seed=2)
        states = read_states(self.write_states(values, stimuli))
        found = compare_pairs(states, None, ["label"], self.options)
        self.assertEqual([found["p"][0][1], found["p"][1][0]], [0.05, 0.05])
        self.assertGreater(found["correlations"][0][1], 0.7)
        self.assertLess(abs(found["correlations"][0][2]), 0.1)
        label = found["references"][1]["layers"]
        self.assertEqual(label[2]["p"], 0.05)
        self.assertGreater(label[2]["correlation"], 0.4)
        for layer in (0, 1):
            self.assertGreater(label[layer]["p"], 0.05)
            self.assertLess(abs(label[layer]["correlation"]), 0.1)

    def test_constant_states_have_no_correlation(self) -> None:
        states = read_states(self.write_states(np.ones((8, 1, 3)), make_stimuli(8)))
        found = compare_pairs(states, None, ["label"], self.options)
        self.assertEqual(found["correlations"], [[None]])
        self.assertIsNone(found["references"][1]["layers"][0]["correlation"])

    def test_many_rows_are_drawn(self) -> None:
        stimuli = make_stimuli(60)
        stimuli[5]["label"] = None
        states = read_states(self.write_states(random.normal(size=(60, 1, 4)), stimuli))
        options = argparse.Namespace(most=20, permutations=3, seed=1)
        found = compare_pairs(states, None, ["label"], options)
        self.assertEqual(found["rows"], 20)
        self.assertIn("20 of 60 rows", found["warnings"][0])


if __name__ == "__main__":
    unittest.main()
