"""What the tools may write over: nothing that they read, and no file that is not their own."""

from __future__ import annotations

import argparse
import json
import os
import tempfile

from command import FAILED, MARK, Problem, usage
from states import files_of

MOST_SUMMARY_BYTES = 1 << 26


def inputs_of(options: argparse.Namespace) -> list[str]:
    """The files that a tool with these options reads."""
    files = files_of(options.states, options.sidecar)
    other, model = getattr(options, "other", None), getattr(options, "model", None)
    return files + ([] if other is None else files_of(other)) + ([] if model is None else [model])


def is_same(one: str, other: str) -> bool:
    """Whether two names are of one file, which need not be there."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def is_own(path: str, marked: bool) -> bool:
    """Whether a file is empty or of these tools: a summary, or with `marked` a page or a picture."""
    try:
        size = os.path.getsize(path)
        with open(path, "rb") as file:
            data = file.read(4096)
            if size == 0 or marked:
                return size == 0 or MARK.encode() in data
            if size > MOST_SUMMARY_BYTES or not data.lstrip().startswith(b"{"):
                return False
            value = json.loads(data + file.read(MOST_SUMMARY_BYTES))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(value, dict) and "tool" in value and "version" in value


def check_output(path: str, inputs: list[str], marked: bool = False) -> None:
    """Raises Problem (2) if `path` is one of the files that are read, or has what isn't to be replaced (is_own)."""
    if any(is_same(path, file) for file in inputs):
        usage(f"{path} is a file that is read; --out wants another name")
    if os.path.isdir(path):
        usage(f"{path} is a folder; name a file in it, or remove it")
    if os.path.exists(path) and not (os.path.isfile(path) and is_own(path, marked)):
        kind = "page or picture" if marked else "summary"
        usage(f"{path} is there and no {kind} of these tools; remove it or name another --out")


def check_folder(folder: str, names: list[str], inputs: list[str]) -> None:
    """Raises Problem (2) if `folder` is a file, or if check_output refuses one of the files that come into it."""
    if os.path.exists(folder) and not os.path.isdir(folder):
        usage(f"{folder} is a file; --out wants the name of a folder")
    for name in names:
        check_output(os.path.join(folder, name), inputs, marked=not name.endswith(".json"))


def make_folder(folder: str) -> None:
    """Makes a folder, if it isn't there, and tries whether files can be made in it. Raises Problem (1)."""
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise Problem(FAILED, f"{folder} can't be written: {error.strerror}") from error
