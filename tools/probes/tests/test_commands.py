"""The commands: what they write and in what order, the page, exit statuses."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from typing import Callable

import numpy as np
from made import TOOLS, InFolder, make_gguf, make_stimuli, plant

import compare_layers
import divergence
import linear_probe
import rsa
import run
from command import MARK, Problem, read_whole, run_command, shown, write_file


def call(body: Callable[[list[str]], int], *args: str) -> tuple[int, str, str]:
    """Runs a command. Returns its status, and what it wrote to stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = run_command(body, list(args))
        except SystemExit as end:  # argparse
            status = int(end.code or 0)
    return status, out.getvalue(), err.getvalue()


class Page(HTMLParser):
    """What a test wants of a page: names of elements, what images say, addresses."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.alts: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = dict(attrs)
        if tag == "svg":
            self.alts.append(given.get("aria-label") or "")
        self.ids += [given["id"] or ""] if "id" in given else []
        self.links += [
            value or "" for name, value in attrs if name in ("href", "src", "xlink:href")
        ]


class Run(InFolder):
    def setUp(self) -> None:
        super().setUp()
        self.stimuli = make_stimuli(48)
        values = np.random.default_rng(1).normal(size=(48, 3, 8))
        plant(values, self.stimuli, 1, 2.0, seed=2)
        self.values = values
        # What a file says is shown and never obeyed: not by HTML, SVG, or matplotlib's formulas.
        self.name = "<script>$x_{$ & \x1b\u202e"
        for stimulus in self.stimuli:
            stimulus[self.name] = stimulus["label"]
        self.states = self.write_states(
            values, self.stimuli, model={"name": self.name, "architecture": "llama"}
        )
        fields = {
            "general.architecture": "llama",
            "llama.block_count": 3,
            "llama.attention.layer_norm_rms_epsilon": 1e-5,
        }
        random = np.random.default_rng(3)
        tensors = {
            "output_norm.weight": (np.ones(8), 0),
            "token_embd.weight": (random.normal(size=(16, 8)), 0),
        }
        self.model = self.write("model.gguf", make_gguf(fields, tensors))

    def test_one_command_writes_summaries_then_pictures_and_a_page(self) -> None:
        out = self.path("out")
        quick = ["--permutations", "9", "--controls", "1", "--shuffles", "1", "--most", "30"]
        labels = ["--label", "label", "--label", self.name]
        status, said, wrong = call(
            run.main, self.states, *labels, "--model", self.model, "--out", out, *quick
        )
        self.assertEqual(status, 0)
        began = ["linear probe of 'label'", f"linear probe of {shown(self.name)}"]
        began += ["layers beside layers", "representational similarity", "logit lens"]
        self.assertEqual(wrong.splitlines(), [f"probes: {text}" for text in began])
        written = [os.path.basename(line.removeprefix("wrote ")) for line in said.splitlines()]
        summaries = ["linear_probe.json", "compare_layers.json", "rsa.json", "divergence.json"]
        self.assertEqual(written[:4], summaries)
        self.assertEqual(written[-1], "index.html")
        self.assertEqual(sorted(written), sorted(os.listdir(out)))
        for name in summaries:
            with open(os.path.join(out, name), encoding="utf-8") as file:
                summary = json.load(file)
            self.assertEqual((summary["version"], summary["seed"]), (1, 1))
            self.assertEqual(summary["states"]["layers"], [0, 1, 2])
        with open(os.path.join(out, "index.html"), encoding="utf-8") as file:
            text = file.read()
        page = Page(text)
        pictures = [name for name in written if name.endswith(".svg")]
        self.assertEqual(len(pictures), 7)
        self.assertEqual(len(page.alts), len(pictures))
        self.assertTrue(all(len(alt) > 30 for alt in page.alts))
        self.assertEqual(page.tags.count("table"), 10)
        self.assertEqual(len(page.ids), len(set(page.ids)))
        self.assertNotIn("script", page.tags)
        # Nothing is fetched: links are the summaries, and places in the pictures.
        self.assertTrue(
            all(
                link in summaries or link.startswith(("#", "data:image/png")) for link in page.links
            )
        )
        self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f\u202e]")
        self.assertIn("prefers-color-scheme: dark", text)
        self.assertNotIn("#010203", text)
        for name in pictures:
            with open(os.path.join(out, name), encoding="utf-8") as file:
                picture = ElementTree.fromstring(file.read())
            self.assertTrue(picture.find("{http://www.w3.org/2000/svg}title").text)

    def test_the_same_seed_writes_the_same_bytes(self) -> None:
        bytes_of = []
        for name in ("a", "b"):
            args = [
                "--label",
                "label",
                "--permutations",
                "3",
                "--controls",
                "1",
                "--out",
                self.path(name),
            ]
            self.assertEqual(call(run.main, self.states, *args)[0], 0)
            files = sorted(os.listdir(self.path(name)))
            self.assertNotIn("divergence.json", files)
            bytes_of.append(
                [read_whole(os.path.join(self.path(name), file), 1 << 24) for file in files]
            )
        self.assertEqual(*bytes_of)

    def test_each_tool_by_itself(self) -> None:
        out = self.path("out.json")
        runs: list[tuple[Callable[[list[str]], int], list[str], str]] = [
            (
                linear_probe.main,
                ["--label", "label", "--permutations", "9"],
                "layer 1: accuracy 1.000",
            ),
            (
                compare_layers.main,
                ["--with", self.states, "--label", "label"],
                "cka: layer 0 with layer 2",
            ),
            (rsa.main, ["--with", self.states, "--label", "label"], "'label' with layer 1: 0."),
            (divergence.main, ["--model", self.model], "layer 2: 0.0000 nats"),
        ]
        for body, args, line in runs:
            status, said, wrong = call(body, self.states, *args, "--out", out)
            self.assertEqual((status, wrong), (0, ""))
            self.assertIn(f"wrote {out}", said.splitlines()[0])
            self.assertIn(line, said)
            with open(out, encoding="utf-8") as file:
                self.assertEqual(json.load(file)["tool"], body.__module__)

    def test_exit_statuses(self) -> None:
        out = self.path("out")
        cases = [
            (2, "no stimulus has the field 'mood'", ["--label", "mood"]),
            (2, "a label is given twice", ["--label", "label", "--label", "label"]),
            (2, "whole number from 2 to 50", ["--folds", "1"]),
            (2, "number from 1e-6 to 1e6", ["--strength", "nan"]),
            (3, "is no GGUF file", ["--model", self.states]),
            (3, "can't be read: No such file", ["--model", self.path("none.gguf")]),
            (3, "none.npy is missing", ["--with", self.path("none.npy")]),
        ]
        for expected, message, args in cases:
            status, said, wrong = call(run.main, self.states, *args, "--out", out)
            with self.subTest(message):
                self.assertEqual((status, said), (expected, ""))
                self.assertIn(message, wrong)
                self.assertFalse(os.path.exists(out))
        self.write("file", b"")
        status, _, wrong = call(rsa.main, self.states, "--out", self.path("file/out.json"))
        self.assertEqual(status, 1)
        self.assertRegex(wrong, "^probes: .*file/out.json can't be written: ")

    def test_an_output_replaces_summaries_alone(self) -> None:
        other = self.write_states(self.values, self.stimuli, name="other")
        foreign = {
            "notes.txt": b"notes",
            "list.json": b'["tool", "version"]',
            "half.json": b'{"tool": "rsa"}',
            "damaged.json": b'{"tool": "rsa", "version": 1',
            "page.html": MARK.encode(),
        }
        for name, data in foreign.items():
            self.write(name, data)
        os.symlink(self.states, self.path("link.npy"))
        os.mkdir(self.path("folder"))
        cases = [("is a folder", "folder")]
        cases += [("no summary of these tools; remove it", name) for name in foreign]
        read = ["states.npy", "states.json", "link.npy", "other.npy", "other.json"]
        cases += [("is a file that is read", name) for name in read]
        before = self.contents(self.folder)
        for message, name in cases:
            status, said, wrong = call(
                rsa.main, self.states, "--with", other, "--out", self.path(name)
            )
            with self.subTest(name):
                self.assertEqual((status, said), (2, ""))
                self.assertIn(message, wrong)
        tools: list[tuple[Callable[[list[str]], int], list[str]]] = [
            (linear_probe.main, ["--label", "label"]),
            (compare_layers.main, []),
            (divergence.main, ["--model", self.model]),
        ]
        for body, args in tools:
            for name in ("notes.txt", "states.json"):
                status = call(body, self.states, *args, "--out", self.path(name))[0]
                self.assertEqual(status, 2)
        status = call(divergence.main, self.states, "--model", self.model, "--out", self.model)[0]
        self.assertEqual(status, 2)
        self.assertEqual(self.contents(self.folder), before)
        # One that isn't there is no other file for that.
        none = self.path("none.npy")
        self.assertEqual(call(rsa.main, none, "--out", self.path("none.json"))[0], 2)
        self.write("empty.json", b"")
        out = self.path("empty.json")
        for body, args in (tools[1], tools[2]):
            self.assertEqual(call(body, self.states, *args, "--out", out)[0], 0)

    def contents(self, folder: str) -> dict[str, bytes]:
        """The files of a folder by name."""
        names = [name for name in os.listdir(folder) if os.path.isfile(os.path.join(folder, name))]
        return {name: read_whole(os.path.join(folder, name), 1 << 24) for name in names}

    def test_a_folder_is_looked_at_before_the_first_probe(self) -> None:
        out = self.path("out")
        args = ["--label", "label", "--permutations", "0", "--controls", "0", "--out"]
        self.assertEqual(call(run.main, self.states, *args, out)[0], 0)
        self.assertEqual(call(run.main, self.states, *args, out)[0], 0)
        for name in os.listdir(out):
            path = os.path.join(out, name)
            own = read_whole(path, 1 << 24)
            with open(path, "wb") as file:
                file.write(b"<svg>mine</svg>")
            before = self.contents(out)
            status, said, wrong = call(run.main, self.states, *args, out)
            with self.subTest(name):
                self.assertEqual((status, said), (2, ""))
                self.assertRegex(wrong, f"^probes: .*{name} is there and no (summary|page)")
                self.assertEqual(self.contents(out), before)
            with open(path, "wb") as file:
                file.write(own)
        # States whose sidecar has the name of a summary.
        states = self.write_states(self.values, self.stimuli, name="rsa")
        for folder, expected, message in (
            (self.folder, 2, "rsa.json is a file that is read"),
            (self.states, 2, "states.npy is a file; --out wants the name of a folder"),
            (self.path("rsa.npy/out"), 1, "out can't be written: Not a directory"),
        ):
            status, said, wrong = call(run.main, states, *args, folder)
            self.assertEqual((status, said), (expected, ""))
            self.assertIn(message, wrong)
            self.assertNotIn("linear probe", wrong)

    def test_a_package_that_is_missing_is_named(self) -> None:
        tools_of = {"sklearn": ("run", "rsa", "linear_probe"), "matplotlib": ("run",)}
        for missing, tools in tools_of.items():
            folder = self.path(missing)
            os.mkdir(folder)
            self.write(f"{missing}/{missing}.py", b"raise ImportError('none is there')")
            for tool in tools:
                done = subprocess.run(
                    [sys.executable, os.path.join(TOOLS, f"{tool}.py"), self.states, "--out", "x"]
                    + ["--label", "label"],
                    env={**os.environ, "PYTHONPATH": folder},
                    cwd=self.folder,
                    capture_output=True,
                    text=True,
                )
                with self.subTest(tool):
                    self.assertEqual((done.returncode, done.stdout), (1, ""))
                    self.assertRegex(
                        done.stderr,
                        f"^probes: {missing} can't be loaded by .*: sudo apt-get install "
                        "python3-numpy python3-scipy python3-sklearn python3-matplotlib\n$",
                    )

    def test_an_output_is_whole_or_not_there(self) -> None:
        os.mkdir(self.path("taken"))
        with self.assertRaises(Problem):
            write_file(self.path("taken"), b"x")
        self.assertEqual(
            sorted(os.listdir(self.folder)), ["model.gguf", "states.json", "states.npy", "taken"]
        )

    def test_messages_control_no_terminal(self) -> None:
        self.assertEqual(shown("a\x1b[2J\u202e"), r"'a\x1b[2J\u202e'")
        self.assertEqual(len(shown("x" * 100)), 62)


class Example(unittest.TestCase):
    def test_the_stimuli_are_what_their_script_writes(self) -> None:
        folder = os.path.join(TOOLS, "examples")
        with open(os.path.join(folder, "feelings.py"), encoding="utf-8") as file:
            names: dict[str, object] = {"__name__": "feelings"}
            exec(compile(file.read(), "feelings.py", "exec"), names)
        with open(os.path.join(folder, "feelings.json"), encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(text, names["as_text"](names["make_stimuli"](1)))  # type: ignore[operator]
        stimuli = json.loads(text)
        self.assertEqual(len({one["text"] for one in stimuli}), 384)
        for group in {one["group"] for one in stimuli}:
            own = [one for one in stimuli if one["group"] == group]
            self.assertEqual(sum(one["feeling"] == "glad" for one in own), len(own) // 2)
            self.assertEqual(len({one["type"] for one in own}), 24)


if __name__ == "__main__":
    unittest.main()
