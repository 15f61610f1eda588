"""What the tools' commands share: exit statuses, messages, the JSON that they write, their options."""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import sys
from typing import Any, Callable, NoReturn

# As the program's (native/app/exit_status.h).
FAILED = 1  # while running: an output that can't be written
USAGE = 2
BAD_FILE = 3
NO_MEMORY = 4

VERSION = 1  # of the JSON that the tools write
# In pages and pictures, which may be replaced where it is.
MARK = "<!-- made by sluice tools/probes -->"


class Problem(Exception):
    """What ends a command. Its text says what is wrong and what to do; `status` is the exit status."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def usage(text: str) -> NoReturn:
    """Raises the Problem of a wrong option, or of one that doesn't fit the states."""
    raise Problem(USAGE, text)


def bad_file(text: str) -> NoReturn:
    """Raises the Problem of a file that can't be used."""
    raise Problem(BAD_FILE, text)


def shown(text: str, most: int = 60) -> str:
    """A text of a file for a message: in quotes, what can't be printed escaped, at most `most` letters."""
    return repr(text if len(text) <= most else text[: most - 3] + "...")


def printable(text: str) -> str:
    """A text of a file for a picture or a page: a question mark for each letter that can't be printed."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def plain(value: Any) -> Any:
    """
    The same with Python's own types, for JSON: numpy's numbers and arrays too. A number that isn't
    finite becomes null, because JSON has none. Numbers get 6 digits: what comes behind them is
    another one with another version of numpy.
    """
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value


def write_file(path: str, data: bytes) -> None:
    """Writes a file whole or not at all, and prints its name. Raises Problem where it can't be written."""
    partial = f"{path}.{os.getpid()}.partial"
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(partial, "wb") as file:
            file.write(data)
        os.replace(partial, path)
    except OSError as error:
        if os.path.exists(partial):
            os.unlink(partial)
        raise Problem(FAILED, f"{path} can't be written: {error.strerror}") from error
    print(f"wrote {path}", flush=True)


def write_summary(path: str, summary: dict[str, Any]) -> dict[str, Any]:
    """Writes a tool's results as JSON. Returns what was written, for pictures that show the same numbers."""
    written = plain({"version": VERSION, **summary})
    text = json.dumps(written, indent=1, ensure_ascii=False, allow_nan=False)
    write_file(path, f"{text}\n".encode())
    return written


def free_memory() -> int:
    """Bytes of memory that the system can give away now; where it doesn't say, all that the machine has."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def need_memory(size: int, name: str) -> None:
    """Raises Problem (4) where arrays of so many bytes, of the file `name`, would not fit: before they are read."""
    free = free_memory()
    if size > free:
        text = f"{name} takes {size / 1e9:.1f} GB of memory; {free / 1e9:.1f} GB are free"
        raise Problem(
            NO_MEMORY, f"{text}; take fewer stimuli, or fewer layers (sluice probe --layers)"
        )


def read_whole(path: str, most_bytes: int) -> bytes:
    """The bytes of a file that has at most so many. Raises Problem (3) otherwise."""
    try:
        size = os.path.getsize(path)
        if size > most_bytes:
            bad_file(f"{path} has {size} bytes; at most {most_bytes} are read")
        with open(path, "rb") as file:
            return file.read(most_bytes)
    except OSError as error:
        bad_file(f"{path} can't be read: {error.strerror}")


def count(least: int, most: int) -> Callable[[str], int]:
    """The type of an option that is a whole number from least to most."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"expected a whole number from {least} to {most}")
        return number

    return read


def common_parser(prog: str, doc: str | None) -> argparse.ArgumentParser:
    """The options of every tool: the states, which positions of them, the seed. `doc`: its help."""
    parser = argparse.ArgumentParser(
        prog=prog, description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("states", metavar="STATES", help=".npy or .npz of `sluice probe`")
    parser.add_argument(
        "--sidecar", metavar="FILE", help="the JSON beside the states, if its name differs"
    )
    parser.add_argument(
        "--tokens",
        choices=("last", "mean", "each"),
        default="last",
        help="of the states of all tokens (.npz): the last one of each stimulus, their mean, or each",
    )
    parser.add_argument(
        "--seed", type=count(0, 2**31 - 1), default=1, help="of all random numbers (default 1)"
    )
    return parser


def add_comparison(parser: argparse.ArgumentParser) -> None:
    """The options of tools that compare layers with other layers, and with labels."""
    parser.add_argument(
        "--with", dest="other", metavar="STATES", help="other states of the same stimuli"
    )
    parser.add_argument(
        "--label", action="append", default=[], metavar="FIELD", help="several may be given"
    )


def print_progress(text: str) -> None:
    """Says on stderr what begins."""
    print(f"probes: {text}", file=sys.stderr, flush=True)


def print_correlation(name: str, one: dict[str, Any]) -> None:
    """Prints what a summary says of a layer: the correlation of `name` with it, and p if there is one."""
    value = "null" if one["correlation"] is None else f"{one['correlation']:.3f}"
    p = f", p {one['p']:.3f}" if "p" in one else ""
    print(f"{shown(name)} with layer {one['layer']}: {value}{p}")


def print_notes(summary: dict[str, Any]) -> None:
    """Prints the warnings of a summary."""
    for text in summary["warnings"]:
        print(f"note: {text}")


def run_command(body: Callable[[list[str]], int], args: list[str] | None = None) -> int:
    """Runs a command's main function. Returns the exit status; a Problem is printed in one line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        return body(sys.argv[1:] if args is None else args)
    except Problem as problem:
        print(f"probes: {problem}", file=sys.stderr)
        return problem.status
    except MemoryError:
        print("probes: the memory doesn't suffice; take fewer stimuli or layers", file=sys.stderr)
        return NO_MEMORY
    except BrokenPipeError:
        # The reader has seen enough. What follows must not be written to it at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
