"""The logit lens: what a model would say if a layer were its last one."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from command import bad_file, shown, usage
from gguf import Gguf
from states import States

# Families whose last steps are: a norm, the head, and for some a cap. Gemma's "1 +" of norms is in the files.
RMS_NORM = ("llama", "qwen2", "qwen3", "qwen3moe", "qwen35", "gemma3", "gemma4", "lfm2")
LAYER_NORM = ("gpt2",)
# The final norm's name where it isn't output_norm.
NORM_NAMES = {"lfm2": "token_embd_norm"}
# gemma4 caps logits also where the file says nothing of it.
USUAL_CAPS = {"gemma4": 30.0}


class Head:
    """
    A model's last steps: from rows of the residual stream to logits. Source: nostalgebraist 2020, "interpreting
    GPT: the logit lens"; Belrose et al. 2023, arXiv 2303.08112, train a map for each layer, which this doesn't.

    n_layers, dim, vocab   of the model
    """

    def __init__(self, path: str) -> None:
        """
        Reads norm and head of a GGUF file. Raises Problem (3) for a family, a type or a form of weights that
        isn't known here, and for a damaged file.
        """
        file = Gguf(path)
        self.path = path
        self.architecture = file.fields.get("general.architecture")
        known = RMS_NORM + LAYER_NORM
        if self.architecture not in known:
            bad_file(
                f"{path} is of the family {shown(str(self.architecture))}; the lens knows {', '.join(known)}"
            )
        if "prism.hadamard.version" in file.fields:
            bad_file(
                f"{path} has weights folded with a Hadamard transform, which the lens doesn't undo"
            )
        if file.fields.get("split.count", 1) not in (0, 1):
            bad_file(f"{path} is one file of several; the lens wants a model in one file")
        layers = self._field(file, "block_count", None)
        # Qwen3.5's blocks for drafting come behind the model's own.
        self.n_layers = int(layers - self._field(file, "nextn_predict_layers", 0))
        self.centre = self.architecture in LAYER_NORM
        suffix = "layer_norm_epsilon" if self.centre else "layer_norm_rms_epsilon"
        self.epsilon = self._field(file, f"attention.{suffix}", None)
        self.cap = self._field(
            file, "final_logit_softcapping", USUAL_CAPS.get(self.architecture, 0.0)
        )
        norm = NORM_NAMES.get(self.architecture, "output_norm")
        self.weight = file.tensor(f"{norm}.weight").astype(np.float64)
        self.bias = file.tensor(f"{norm}.bias").astype(np.float64) if self.centre else None
        table = "output.weight" if "output.weight" in file.tensors else "token_embd.weight"
        self.table = file.tensor(table)
        self.scale = (
            float(file.tensor("output.scale").ravel()[0]) if "output.scale" in file.tensors else 1.0
        )
        self.head_bias = file.tensor("output.bias") if "output.bias" in file.tensors else None
        self.vocab, self.dim = self.table.shape if self.table.ndim == 2 else (0, 0)
        fits = self.weight.shape == (self.dim,) and (
            self.bias is None or self.bias.shape == (self.dim,)
        )
        if not fits or (self.head_bias is not None and self.head_bias.shape != (self.vocab,)):
            bad_file(f"{path}: the shapes of {norm} and {table} don't fit")

    def _field(self, file: Gguf, name: str, fallback: float | None) -> float:
        """A number among the family's fields. Raises Problem (3) if it is missing or none."""
        key = f"{self.architecture}.{name}"
        value = file.fields.get(key, fallback)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e9:
            bad_file(f"{self.path}: {shown(key)} is {shown(str(value))}; expected a number")
        return value

    def logits(self, rows: np.ndarray) -> np.ndarray:
        """The logits of rows of the residual stream [n, dim], as float64 [n, vocab]."""
        x = rows.astype(np.float64)
        if self.centre:
            x = x - x.mean(axis=1, keepdims=True)
        x = x / np.sqrt(np.mean(x**2, axis=1, keepdims=True) + self.epsilon) * self.weight
        if self.bias is not None:
            x = x + self.bias
        y = x.astype(np.float32) @ self.table.T * self.scale
        if self.head_bias is not None:
            y = y + self.head_bias
        y = y.astype(np.float64)
        return self.cap * np.tanh(y / self.cap) if self.cap > 0 else y

    def log_probabilities(self, rows: np.ndarray) -> np.ndarray:
        """The log of the softmax of logits(rows), float64 [n, vocab]."""
        y = self.logits(rows)
        y = y - y.max(axis=1, keepdims=True)
        return y - np.log(np.sum(np.exp(y), axis=1, keepdims=True))

    def check_states(self, states: States) -> None:
        """Raises Problem (2) unless these can be the residual stream of this model, with its last layer."""
        described: Any = states.sidecar.get("model")
        model = described if isinstance(described, dict) else {}
        if states.sidecar.get("at", "residual") != "residual":
            usage("the lens reads the residual stream: sluice probe --at residual")
        if states.sidecar.get("positions") == "mean" or np.any(states.token < 0):
            usage(
                "the mean of several tokens' states is no state that the head reads; take --positions last or all"
            )
        if (
            model.get("architecture", self.architecture) != self.architecture
            or states.values.shape[2] != self.dim
        ):
            usage(f"{self.path} isn't the model that the states of {states.path} are of")
        if model.get("bytes", os.path.getsize(self.path)) != os.path.getsize(self.path):
            usage(
                f"{self.path} has another size than the file that the states of {states.path} are of"
            )
        if states.layers[-1] != self.n_layers - 1:
            usage(
                f"the divergence is that from the last layer, {self.n_layers - 1}; the states have layers up to {states.layers[-1]}"
            )
