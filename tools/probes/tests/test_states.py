"""Reading states: both forms, and files that anyone may have written."""

from __future__ import annotations

import io
import json
import os
import pickle
import unittest
import zipfile
from typing import Any
from unittest import mock

import numpy as np
from made import InFolder, make_stimuli, sidecar_of

from command import Problem, free_memory
from states import read_field, read_groups, read_labels, read_states, repeat_warnings


def npy(array: np.ndarray) -> bytes:
    """An array as the bytes of a .npy file."""
    out = io.BytesIO()
    np.save(out, array, allow_pickle=True)
    return out.getvalue()


class ReadStates(InFolder):
    def test_npy(self) -> None:
        values = np.arange(24, dtype=np.float32).reshape(4, 3, 2)
        for form in (values, np.asfortranarray(values), values.astype(">f8"), values.astype("<f2")):
            path = self.write_states(values, make_stimuli(4), layers=[0, 5, 9])
            np.save(path, form)
            states = read_states(path)
            np.testing.assert_array_equal(states.values, values)
            self.assertEqual(states.values.dtype, np.float32)
            self.assertEqual((states.layers, states.token.tolist()), ([0, 5, 9], [2, 2, 2, 2]))

    def test_npz_with_the_states_of_all_tokens(self) -> None:
        stimuli = make_stimuli(3)
        stimuli[1]["tokens"] = [4, 5]
        arrays = [
            np.random.default_rng(i).normal(size=(2, len(one["tokens"]), 5)).astype(np.float32)
            for i, one in enumerate(stimuli)
        ]
        for save in (np.savez, np.savez_compressed):
            save(self.path("all.npz"), **{str(i): array for i, array in enumerate(arrays)})
            sidecar = sidecar_of(stimuli, 2, 5, positions="all")
            self.write("all.json", json.dumps(sidecar).encode())
            last = read_states(self.path("all.npz"))
            np.testing.assert_array_equal(last.values[1], arrays[1][:, -1])
            self.assertEqual(last.token.tolist(), [2, 1, 2])
            mean = read_states(self.path("all.npz"), tokens="mean")
            np.testing.assert_allclose(mean.values[2], arrays[2].mean(axis=1), rtol=1e-6)
            each = read_states(self.path("all.npz"), tokens="each")
            self.assertEqual(each.values.shape, (8, 2, 5))
            np.testing.assert_array_equal(each.values[4], arrays[1][:, 1])
            self.assertEqual(each.stimulus.tolist(), [0, 0, 0, 1, 1, 2, 2, 2])
            self.assertEqual(each.token.tolist(), [0, 1, 2, 0, 1, 0, 1, 2])

    def test_labels_of_tokens_and_of_texts(self) -> None:
        stimuli = make_stimuli(2)
        stimuli[0] |= {"part": ["noun", None, "verb"], "many": 2, "true": True}
        stimuli[1] |= {"part": ["verb", "noun", "noun"], "many": 1}
        arrays = {str(i): np.zeros((1, 3, 2), np.float32) for i in range(2)}
        np.savez(self.path("all.npz"), **arrays)
        sidecar = sidecar_of(stimuli, 1, 2, positions="all")
        self.write("all.json", json.dumps(sidecar).encode())
        each = read_states(self.path("all.npz"), tokens="each")
        rows, labels = read_labels(each, "part")
        self.assertEqual(rows.tolist(), [0, 2, 3, 4, 5])
        self.assertEqual(labels.tolist(), ["noun", "verb", "verb", "noun", "noun"])
        self.assertEqual(read_field(each, "many"), ["2"] * 3 + ["1"] * 3)
        self.assertEqual(read_field(each, "true"), ["yes"] * 3 + [None] * 3)
        self.assertEqual(read_field(read_states(self.path("all.npz")), "part"), ["verb", "noun"])
        with self.assertRaisesRegex(Problem, "a list that doesn't fit"):
            read_field(read_states(self.path("all.npz"), tokens="mean"), "part")
        with self.assertRaisesRegex(
            Problem, "no stimulus has the field 'mood'; there are: 'group'"
        ):
            read_field(each, "mood")

    def test_rows_that_repeat_are_told(self) -> None:
        values = np.arange(60, dtype=np.float32).reshape(20, 3, 1)
        values[1:3] = values[0]
        self.assertEqual(repeat_warnings(values), [])
        values[3] = values[0]
        self.assertRegex(repeat_warnings(values)[0], "^3 of 20 rows have the same states")

    def test_groups_are_named_or_those_of_equal_texts(self) -> None:
        stimuli = make_stimuli(4, per_group=2)
        stimuli[2]["text"] = stimuli[0]["text"]
        states = read_states(self.write_states(np.zeros((4, 1, 1)), stimuli))
        self.assertEqual(read_groups(states, None).tolist(), [0, 0, 1, 1])
        self.assertEqual(read_groups(states, "label").tolist(), [0, 1, 0, 1])
        for stimulus in stimuli:
            del stimulus["group"]
        states = read_states(self.write_states(np.zeros((4, 1, 1)), stimuli))
        self.assertEqual(read_groups(states, None).tolist(), [0, 1, 0, 2])


class Hostile(InFolder):
    """Each is refused with a message and the status 3 (2 where the command is wrong)."""

    def refuse(self, message: str, path: str, status: int = 3, **more: Any) -> None:
        with self.subTest(message), self.assertRaisesRegex(Problem, message) as caught:
            read_states(path, **more)
        self.assertEqual(caught.exception.status, status)

    def test_arrays(self) -> None:
        path = self.write_states(np.zeros((4, 3, 2)), make_stimuli(4))
        good = npy(np.zeros((4, 3, 2), np.float32))

        class Evil:
            def __reduce__(self) -> Any:
                return (os.mkdir, (path + ".made",))

        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }"
        claims = [b"4, 3, 200", b"4, 3, 1 << 60", b"-4, -3, 2", b"4, 3, " + b"9" * 5000]
        cases = {
            "numbers of the type 'object'": npy(np.array([Evil(), Evil()], dtype=object)),
            "isn't .npy": pickle.dumps(Evil()),
            "isn't .npy: .*": b"",
            "of the type 'int64'": npy(np.zeros((4, 3, 2), np.int64)),
            "there are 24": good[:-72],
            "takes 96 bytes; there are 97": good + b"x",
            "isn't finite, at \\(3, 1, 0\\)": npy(
                np.where(np.arange(24) == 20, np.nan, 0).reshape(4, 3, 2)
            ),
            "isn't finite": npy(np.full((4, 3, 2), 1e300)),
            "has 2 axes": npy(np.zeros((4, 6), np.float32)),
            "4 layers of 2 numbers; .* says 3 of 2": npy(np.zeros((4, 4, 2), np.float32)),
            "has 5 stimuli; .* has 4": npy(np.zeros((5, 3, 2), np.float32)),
            "has 1 stimuli": npy(np.float32(1)),
            "version 3.0": b"\x93NUMPY\x03\x00" + good[8:],
        }
        for message, data in cases.items():
            self.refuse(message, self.write("states.npy", data))
        for claim in claims:
            text = (header % claim).ljust(6000 if len(claim) > 100 else 118) + b"\n"
            data = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(96)
            self.refuse("states.npy", self.write("states.npy", data))
        self.assertFalse(os.path.exists(path + ".made"))
        self.refuse("neither .npy nor .npz", self.path("states.txt"), 2)
        self.refuse("wants the states of all tokens", path, 2, tokens="each")
        self.refuse(
            "can't be read",
            self.write_states(np.zeros((1, 1, 1)), make_stimuli(1)),
            sidecar_path=self.folder,
        )
        os.unlink(path)
        self.refuse("states.npy is missing: name what `sluice probe --out` wrote", path)

    def test_files_larger_than_the_memory_are_not_read(self) -> None:
        path = self.write_states(np.zeros((4, 3, 2)), make_stimuli(4))
        with open(path, "wb") as file:
            shape = {"descr": "<f4", "fortran_order": False, "shape": (400000000, 3, 2)}
            np.lib.format.write_array_header_1_0(file, shape)
            # It has no blocks on the disk.
            file.truncate(file.tell() + 400000000 * 24)
        with mock.patch("command.free_memory", return_value=1 << 30):
            self.refuse("takes 21.6 GB of memory; 1.1 GB are free", path, 4)
        self.assertGreater(free_memory(), 1 << 20)

    def test_damaged_headers(self) -> None:
        good = npy(np.zeros((4, 3, 2), np.float32))
        path = self.write_states(np.zeros((4, 3, 2)), make_stimuli(4))
        for place in range(0, 128, 2):
            for change in (0x01, 0x20, 0xFF):
                damaged = bytearray(good)
                damaged[place] ^= change
                self.write("states.npy", bytes(damaged))
                try:
                    self.assertEqual(read_states(path).values.shape, (4, 3, 2))
                except Problem as problem:
                    self.assertEqual(problem.status, 3)

    def test_archives(self) -> None:
        self.write(
            "all.json", json.dumps(sidecar_of(make_stimuli(2), 1, 2, positions="all")).encode()
        )
        path = self.path("all.npz")
        good = npy(np.zeros((1, 3, 2), np.float32))

        def archive(members: list[tuple[str, bytes]]) -> None:
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
                for name, data in members:
                    file.writestr(name, data)

        cases: dict[str, list[tuple[str, bytes]]] = {
            "none named 1": [("0.npy", good), ("../1.npy", good)],
            "has 1 stimuli": [("0.npy", good)],
            "array 1 isn't .npy": [("0.npy", good), ("1.npy", b"no")],
            "array 1 has 2 axes": [("0.npy", good), ("1.npy", npy(np.zeros((3, 2), np.float32)))],
            "array 1 has 2 tokens; .* has 3": [
                ("0.npy", good),
                ("1.npy", npy(np.zeros((1, 2, 2), np.float32))),
            ],
            "would unpack to": [
                ("0.npy", good),
                ("1.npy", npy(np.zeros((1, 3, 20000), np.float32))),
            ],
        }
        for message, members in cases.items():
            archive(members)
            self.refuse(message, path)
        archive([("0.npy", good), ("1.npy", good)])
        self.assertEqual(read_states(path).values.shape, (2, 1, 2))
        with open(path, "rb") as file:
            whole = file.read()
        for place in range(0, len(whole), 3):
            damaged = bytearray(whole)
            damaged[place] ^= 0x55
            self.write("all.npz", bytes(damaged))
            try:
                read_states(path)
            except Problem as problem:
                self.assertEqual(problem.status, 3)
        for length in (0, 10, len(whole) // 2, len(whole) - 1):
            self.write("all.npz", whole[:length])
            self.refuse("all.npz", path)

    def test_sidecars(self) -> None:
        path = self.write_states(np.zeros((4, 3, 2)), make_stimuli(4))
        good = sidecar_of(make_stimuli(4), 3, 2)
        first = good["stimuli"][0]
        cases: dict[str, Any] = {
            "isn't the JSON": [good],
            "version '2'": {**good, "version": 2},
            "isn't a list of layers": {**good, "layers": 3},
            "isn't a list of layers' numbers": {**good, "layers": [0, 1.5, 2]},
            "don't ascend": {**good, "layers": [0, 2, 1]},
            "says 2 of 2": {**good, "layers": [0, 1]},
            '"dim" isn\'t a number': {**good, "dim": True},
            "isn't a list with something": {**good, "stimuli": []},
            "stimulus 0 has no text": {**good, "stimuli": [{**first, "text": 7}]},
            "tokens of stimulus 0": {**good, "stimuli": [{**first, "tokens": [1, -1]}]},
            "\"at\" is 'head'": {**good, "at": "head"},
            "has 4 stimuli; .* has 1": {**good, "stimuli": [first]},
            "positions are 'all'": {**good, "positions": "all"},
        }
        for message, sidecar in cases.items():
            self.write("states.json", json.dumps(sidecar).encode())
            self.refuse(message, path)
        for data in (b"", b"{", b"\xff\xfe", b"[" * 200000, b'{"version": ' + b"1" * 5000 + b"}"):
            self.write("states.json", data)
            self.refuse("isn't JSON", path)
        os.unlink(self.path("states.json"))
        self.refuse("states.json is missing: `sluice probe` writes it", path)
        self.refuse("nope.npy is missing: name what", self.path("nope.npy"))

    def test_fields(self) -> None:
        stimuli = make_stimuli(4)
        values = np.zeros((4, 1, 1))
        wrong: list[tuple[str, Any]] = [
            ("neither a text nor a whole number", 1.5),
            ("neither a text nor a whole number", {"a": 1}),
            ("2 values of 'label' for its tokens", ["a", "b"]),
        ]
        for message, value in wrong:
            stimuli[1]["label"] = value
            states = read_states(self.write_states(values, stimuli))
            with self.subTest(message), self.assertRaisesRegex(Problem, message) as caught:
                read_labels(states, "label")
            self.assertEqual(caught.exception.status, 3)
        # Half of a surrogate pair, and what would control a terminal.
        for i, stimulus in enumerate(stimuli):
            stimulus["label"] = ["\ud800", "\x1b[2J"][i % 2]
        states = read_states(self.write_states(values, stimuli))
        self.assertEqual(set(read_labels(states, "label")[1]), {"?", "\x1b[2J"})


if __name__ == "__main__":
    unittest.main()
