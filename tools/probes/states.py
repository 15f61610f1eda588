"""Hidden states of stimuli as `sluice probe` writes them: the arrays, and the JSON beside them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from arrays import read_npy, read_npz
from command import bad_file, read_whole, shown, usage

MOST_SIDECAR_BYTES = 1 << 28
MOST_CLASSES = 200
PLACES = ("residual", "attention", "ffn")


@dataclass(frozen=True)
class States:
    """
    values    float32 [rows, layers, dim]
    layers    the number of each layer in the model, ascending; [layers]
    stimulus  which stimulus a row is of; int [rows]
    token     the token of the stimulus that a row is of, from 0, or -1: of all of its tokens; int [rows]
    stimuli   their fields, among them text and tokens
    sidecar   all of the JSON file
    path      of the arrays, for messages
    """

    values: np.ndarray
    layers: list[int]
    stimulus: np.ndarray
    token: np.ndarray
    stimuli: list[dict[str, Any]]
    sidecar: dict[str, Any]
    path: str

    def describe(self) -> dict[str, Any]:
        """What a summary says of the states."""
        kept = ("program", "model", "at", "positions")
        return {
            "file": os.path.basename(self.path),
            **{name: self.sidecar[name] for name in kept if name in self.sidecar},
            "stimuli": len(self.stimuli),
            "rows": len(self.values),
            "layers": self.layers,
            "dim": self.values.shape[2],
        }


def clean(value: Any) -> Any:
    """JSON's values with halves of surrogate pairs replaced, so that every text can be written."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [clean(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): clean(item) for key, item in value.items()}
    return value


def is_count(value: Any) -> bool:
    """Whether a value of JSON is a whole number from 0 to 2^53."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 1 << 53


def read_json(path: str) -> Any:
    """The value of a JSON file. Raises Problem (3) if it can't be read or isn't JSON."""
    try:
        return clean(json.loads(read_whole(path, MOST_SIDECAR_BYTES)))
    except (ValueError, RecursionError) as error:
        bad_file(f"{path} isn't JSON: {error}")


def read_sidecar(path: str) -> dict[str, Any]:
    """
    The JSON file beside states: version 1, `layers`, `dim`, and `stimuli` with `text` and `tokens`.
    Raises Problem (3) if one is missing or of another form.
    """
    sidecar = read_json(path)
    if not isinstance(sidecar, dict):
        bad_file(f"{path} isn't the JSON that `sluice probe` writes beside states: no object")
    if sidecar.get("version") != 1:
        bad_file(f"{path} has the version {shown(str(sidecar.get('version')))}; these tools read 1")
    if sidecar.get("at", "residual") not in PLACES:
        bad_file(f"{path}: \"at\" is {shown(str(sidecar['at']))}; expected {', '.join(PLACES)}")
    layers = sidecar.get("layers")
    if not isinstance(layers, list) or not layers or not all(is_count(layer) for layer in layers):
        bad_file(f"{path}: \"layers\" isn't a list of layers' numbers")
    if layers != sorted(set(layers)):
        bad_file(f'{path}: "layers" don\'t ascend')
    if not is_count(sidecar.get("dim")):
        bad_file(f'{path}: "dim" isn\'t a number')
    stimuli = sidecar.get("stimuli")
    if not isinstance(stimuli, list) or not stimuli:
        bad_file(f'{path}: "stimuli" isn\'t a list with something in it')
    for i, stimulus in enumerate(stimuli):
        if not isinstance(stimulus, dict) or not isinstance(stimulus.get("text"), str):
            bad_file(f"{path}: stimulus {i} has no text")
        tokens = stimulus.get("tokens")
        if not isinstance(tokens, list) or not tokens or not all(is_count(id) for id in tokens):
            bad_file(f"{path}: the tokens of stimulus {i} aren't a list of ids")
    return sidecar


def check_stack(array: np.ndarray, sidecar: dict[str, Any], path: str, name: str) -> None:
    """Raises Problem (3) unless the last two axes are the sidecar's layers and dim. `name`: of the array."""
    expected = (len(sidecar["layers"]), sidecar["dim"])
    if array.ndim != 3:
        bad_file(f"{name} has {array.ndim} axes; expected 3")
    if array.shape[1:] != expected:
        bad_file(
            f"{name} has {array.shape[1]} layers of {array.shape[2]} numbers; "
            f"{path} says {expected[0]} of {expected[1]}"
        )


def files_of(path: str, sidecar_path: str | None = None) -> list[str]:
    """The files that read_states reads: the arrays, and the JSON beside them."""
    return [path, sidecar_path or f"{os.path.splitext(path)[0]}.json"]


def read_states(path: str, sidecar_path: str | None = None, tokens: str = "last") -> States:
    """
    Reads F.npy [stimuli, layers, dim], or F.npz with an array [layers, tokens, dim] for each stimulus,
    and F.json (or `sidecar_path`). `tokens`: of a .npz file the `last` row of each stimulus, the `mean` of
    its rows or `each` one. Raises Problem (2) for another name or `tokens` that a .npy file can't give, and
    Problem (3) if a file can't be used or the two don't fit.
    """
    extension = os.path.splitext(path)[1]
    if extension not in (".npy", ".npz"):
        usage(f"{path} is neither .npy nor .npz")
    if extension == ".npy" and tokens != "last":
        usage(
            f"--tokens {tokens} wants the states of all tokens: sluice probe --positions all --out F.npz"
        )
    beside = files_of(path, sidecar_path)[1]
    if not os.path.exists(path):
        bad_file(f"{path} is missing: name what `sluice probe --out` wrote")
    if not os.path.exists(beside):
        bad_file(
            f"{beside} is missing: `sluice probe` writes it beside the states (--sidecar names another)"
        )
    sidecar = read_sidecar(beside)
    # F.npy and F.npz have the same JSON file beside them: that of whichever was written last.
    if (sidecar.get("positions", "last") == "all") != (extension == ".npz"):
        bad_file(
            f"{beside} isn't of {path}: its positions are {shown(str(sidecar.get('positions')))}"
        )
    stimuli = sidecar["stimuli"]
    arrays = [read_npy(path)] if extension == ".npy" else read_npz(path)
    n = arrays[0].shape[0] if extension == ".npy" and arrays[0].ndim > 0 else len(arrays)
    if n != len(stimuli):
        bad_file(f"{path} has {n} stimuli; {beside} has {len(stimuli)}")
    if extension == ".npy":
        check_stack(arrays[0], sidecar, beside, path)
        last = -1 if sidecar.get("positions") == "mean" else None
        token = np.array([len(s["tokens"]) - 1 if last is None else last for s in stimuli])
        return States(arrays[0], sidecar["layers"], np.arange(n), token, stimuli, sidecar, path)
    rows, stimulus, token_of = [], [], []
    for i, (array, fields) in enumerate(zip(arrays, stimuli)):
        by_token = np.swapaxes(array, 0, 1) if array.ndim == 3 else array
        check_stack(by_token, sidecar, beside, f"{path}, array {i}")
        length = len(fields["tokens"])
        if len(by_token) != length:
            bad_file(f"{path}, array {i} has {len(by_token)} tokens; {beside} has {length}")
        taken = {
            "last": by_token[-1:],
            "mean": by_token.mean(axis=0, keepdims=True),
            "each": by_token,
        }
        rows.append(taken[tokens])
        stimulus += [i] * len(taken[tokens])
        token_of += {"last": [length - 1], "mean": [-1], "each": list(range(length))}[tokens]
    values = np.concatenate(rows)
    return States(
        values, sidecar["layers"], np.array(stimulus), np.array(token_of), stimuli, sidecar, path
    )


def repeat_warnings(values: np.ndarray) -> list[str]:
    """
    What a reader must know where more than a tenth of the rows [rows, layers, dim] are the same as others: tokens
    of texts that begin alike, if layers see only what was before.
    """
    n = len(values)
    repeated = n - len({row.tobytes() for row in values})
    if repeated <= n / 10:
        return []
    return [
        f"{repeated} of {n} rows have the same states as others, as texts that begin alike give: they count several "
        "times, and in several folds if they are of several groups"
    ]


def value_of(field: Any, token: int) -> str | None:
    """
    A row's value of a stimulus's field as a text; None where it has none. Of a list the item of the row's
    token. Raises TypeError for what can't be a class: objects, numbers with a fraction, a list for a row of
    all tokens or of another length than the tokens.
    """
    if isinstance(field, list):
        if not 0 <= token < len(field):
            raise TypeError("a list that doesn't fit its tokens")
        field = field[token]
    if field is None:
        return None
    if isinstance(field, bool):
        return "yes" if field else "no"
    if isinstance(field, (str, int)):
        return str(field)
    raise TypeError("neither a text nor a whole number")


def read_field(states: States, name: str) -> list[str | None]:
    """
    A field of the stimuli for each row (value_of). Raises Problem (2) if no stimulus has it, which names those
    that they have, and Problem (3) for values that can't be classes.
    """
    if not any(name in stimulus for stimulus in states.stimuli):
        own = sorted({key for s in states.stimuli for key in s} - {"text", "tokens"})
        known = ", ".join(shown(key) for key in own[:12]) or "none"
        usage(f"no stimulus has the field {shown(name)}; there are: {known}")
    values = []
    for row, token in zip(states.stimulus, states.token):
        stimulus = states.stimuli[row]
        field = stimulus.get(name)
        if isinstance(field, list) and len(field) != len(stimulus["tokens"]):
            bad_file(
                f"{states.path}: stimulus {row} has {len(field)} values of {shown(name)} for its tokens"
            )
        try:
            values.append(value_of(field, int(token)))
        except TypeError as error:
            bad_file(f"{states.path}: the field {shown(name)} of stimulus {row} is {error}")
    return values


def read_labels(states: States, name: str) -> tuple[np.ndarray, np.ndarray]:
    """
    The rows that have a label, int [n], and their labels, texts [n]. Raises Problem as read_field does, and
    Problem (2) if there are fewer than two classes or more than MOST_CLASSES.
    """
    values = read_field(states, name)
    rows = np.array([row for row, value in enumerate(values) if value is not None], dtype=int)
    labels = np.array([value for value in values if value is not None], dtype=str)
    classes = len(set(labels.tolist()))
    if not 2 <= classes <= MOST_CLASSES:
        usage(f"{shown(name)} has {classes} classes; a label has 2 to {MOST_CLASSES}")
    return rows, labels


def read_groups(states: States, name: str | None) -> np.ndarray:
    """
    The group of each row, int [rows]: that of the field `name`, of the field "group" if the stimuli have one,
    otherwise of the stimulus's text. What has no group is one by itself. Rows of a stimulus are always of
    one group. Raises Problem as read_field does.
    """
    if name is None and any("group" in stimulus for stimulus in states.stimuli):
        name = "group"
    if name is None:
        keys = [f"text {states.stimuli[row]['text']}" for row in states.stimulus]
    else:
        values = read_field(states, name)
        if any(isinstance(stimulus.get(name), list) for stimulus in states.stimuli):
            usage(f"{shown(name)} has a value for each token; a group is of whole stimuli")
        keys = [
            f"own {row}" if value is None else f"group {value}"
            for row, value in zip(states.stimulus, values)
        ]
    numbers = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys])
