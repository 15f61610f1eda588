"""States and files for the tests, made by seeds."""

from __future__ import annotations

import json
import os
import shutil
import struct
import sys
import tempfile
import unittest
from typing import Any

import numpy as np

TOOLS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(os.path.dirname(TOOLS))
SHARED = os.path.join(os.path.dirname(ROOT), "shared", "models")
sys.path.insert(0, TOOLS)


class InFolder(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="probes-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name: str) -> str:
        """A name in the folder."""
        return os.path.join(self.folder, name)

    def write(self, name: str, data: bytes) -> str:
        """Writes a file, and returns its path."""
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def write_states(
        self, values: np.ndarray, stimuli: list[dict[str, Any]], name: str = "states", **more: Any
    ) -> str:
        """Writes values [n, layers, dim] and their sidecar as `sluice probe` does. Returns the path."""
        np.save(self.path(f"{name}.npy"), values.astype(np.float32))
        sidecar = sidecar_of(stimuli, values.shape[1], values.shape[2], **more)
        self.write(f"{name}.json", json.dumps(sidecar).encode())
        return self.path(f"{name}.npy")


def sidecar_of(
    stimuli: list[dict[str, Any]], n_layers: int, dim: int, **more: Any
) -> dict[str, Any]:
    """The JSON beside states. `more`: fields of its own."""
    return {
        "version": 1,
        "program": "sluice 0.1.0",
        "model": {"name": "made", "architecture": "llama"},
        "at": "residual",
        "positions": "last",
        "layers": list(range(n_layers)),
        "dim": dim,
        "stimuli": stimuli,
        **more,
    }


def make_stimuli(
    n: int, classes: int = 2, per_group: int = 4, types: int = 20
) -> list[dict[str, Any]]:
    """n stimuli with the fields label, group and type; each group has all classes if it is large enough."""
    return [
        {
            "text": f"text {i}",
            "tokens": [1, 10 + i % 7, 100 + i % types],
            "label": f"class {i % classes}",
            "group": f"group {i // per_group}",
            "type": f"type {i % types}",
        }
        for i in range(n)
    ]


def plant(
    values: np.ndarray, stimuli: list[dict[str, Any]], layer: int, strength: float, seed: int
) -> None:
    """Adds to a layer of values [n, layers, dim] a direction for each class of `label`."""
    random = np.random.default_rng(seed)
    directions: dict[str, np.ndarray] = {}
    for row, stimulus in enumerate(stimuli):
        one = directions.setdefault(stimulus["label"], random.normal(size=values.shape[2]))
        values[row, layer] += strength * one


def text_of(value: str) -> bytes:
    """A text as GGUF has it."""
    return struct.pack("<Q", len(value.encode())) + value.encode()


def make_gguf(
    fields: dict[str, Any], tensors: dict[str, tuple[np.ndarray, int]], vocabulary: int = 0
) -> bytes:
    """
    A GGUF file of version 3. fields: texts, floats and whole numbers; tensors: F32 (0), F16 (1) or Q8_0 (8);
    vocabulary: so many texts in an array among the fields.
    """
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(fields) + (vocabulary > 0))
    for key, value in fields.items():
        head += text_of(key)
        if isinstance(value, str):
            head += struct.pack("<I", 8) + text_of(value)
        elif isinstance(value, float):
            head += struct.pack("<If", 6, value)
        else:
            head += struct.pack("<II", 4, value)
    if vocabulary > 0:
        head += text_of("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, vocabulary)
        head += b"".join(text_of(f"t{i}") for i in range(vocabulary))
    data = b""
    for name, (array, kind) in tensors.items():
        head += text_of(name) + struct.pack("<I", array.ndim)
        head += struct.pack(f"<{array.ndim}Q", *array.shape[::-1]) + struct.pack(
            "<IQ", kind, len(data)
        )
        data += pack_tensor(array, kind)
        data += bytes(-len(data) % 32)
    return head + bytes(-len(head) % 32) + data


def pack_tensor(array: np.ndarray, kind: int) -> bytes:
    """An array's bytes as F32, F16 or Q8_0."""
    if kind != 8:
        return array.astype("<f4" if kind == 0 else "<f2").tobytes()
    blocks = array.astype(np.float32).reshape(-1, 32)
    scale = (np.abs(blocks).max(axis=1) / 127).astype("<f2")
    whole = np.rint(blocks / np.maximum(scale.astype(np.float32), 1e-9)[:, None]).astype("i1")
    return b"".join(d.tobytes() + q.tobytes() for d, q in zip(scale, whole))
