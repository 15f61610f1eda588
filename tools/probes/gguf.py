"""Reads a GGUF file's fields and those of its tensors that are in F32, F16 or Q8_0. Files are hostile."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from command import bad_file, need_memory, shown

MOST_FIELDS = 1 << 16
MOST_TENSORS = 1 << 16
MOST_NAME = 1 << 16
ARRAY, STRING = 9, 8
# GGUF's types of fields: the number, and how struct reads it.
SCALARS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
# Numbers in a block and its bytes, by the type's number.
TYPES = {0: ("F32", 1, 4), 1: ("F16", 1, 2), 8: ("Q8_0", 32, 34)}


@dataclass(frozen=True)
class Tensor:
    """`shape`: as numpy has it, rows first; the file has it the other way round. `offset`: in the data."""

    name: str
    shape: tuple[int, ...]
    kind: int
    offset: int


class Gguf:
    """
    An open GGUF file of version 2 or 3, little endian. `fields`: all but arrays, by key; `tensors`: by name.
    The file is read again for each tensor.
    """

    def __init__(self, path: str) -> None:
        """Reads the header. Raises Problem (3) if the file can't be read or its header is damaged."""
        self.path = path
        self.fields: dict[str, Any] = {}
        self.tensors: dict[str, Tensor] = {}
        try:
            self.size = os.path.getsize(path)
            with open(path, "rb") as file:
                self._read_header(file)
        except OSError as error:
            bad_file(f"{path} can't be read: {error.strerror}")
        except (struct.error, UnicodeDecodeError):
            bad_file(f"{path} is no GGUF file, or its header is damaged")

    def _take(self, file: IO[bytes], form: str) -> Any:
        """One number. Raises struct.error at the file's end."""
        form = f"<{form}"
        return struct.unpack(form, file.read(struct.calcsize(form)))[0]

    def _text(self, file: IO[bytes], most: int) -> str:
        """A text of at most `most` bytes."""
        length = self._take(file, "Q")
        if length > min(most, self.size - file.tell()):
            bad_file(f"{self.path}: a text in the header claims {length} bytes")
        return file.read(length).decode("utf-8", "replace")

    def _skip_array(self, file: IO[bytes], key: str) -> None:
        """Goes past an array: vocabularies, which nothing here needs."""
        kind, length = self._take(file, "I"), self._take(file, "Q")
        left = self.size - file.tell()
        if kind in SCALARS:
            if length * struct.calcsize(SCALARS[kind]) > left:
                bad_file(f"{self.path}: the array {shown(key)} is longer than the file")
            file.seek(length * struct.calcsize(SCALARS[kind]), os.SEEK_CUR)
            return
        if kind != STRING or length * 8 > left:
            bad_file(f"{self.path}: the array {shown(key)} is damaged")
        for _ in range(length):
            size = self._take(file, "Q")
            if size > self.size - file.tell():
                bad_file(f"{self.path}: a text of {shown(key)} is longer than the file")
            file.seek(size, os.SEEK_CUR)

    def _read_header(self, file: IO[bytes]) -> None:
        if file.read(4) != b"GGUF" or self._take(file, "I") not in (2, 3):
            bad_file(f"{self.path} is no GGUF file of version 2 or 3")
        n_tensors, n_fields = self._take(file, "Q"), self._take(file, "Q")
        if n_tensors > MOST_TENSORS or n_fields > MOST_FIELDS:
            bad_file(f"{self.path} claims {n_tensors} tensors and {n_fields} fields")
        for _ in range(n_fields):
            key = self._text(file, MOST_NAME)
            kind = self._take(file, "I")
            if kind == ARRAY:
                self._skip_array(file, key)
            elif kind == STRING:
                self.fields[key] = self._text(file, self.size)
            elif kind in SCALARS:
                self.fields[key] = self._take(file, SCALARS[kind])
            else:
                bad_file(f"{self.path}: the field {shown(key)} has the unknown type {kind}")
        for _ in range(n_tensors):
            name = self._text(file, MOST_NAME)
            axes = self._take(file, "I")
            if not 1 <= axes <= 4:
                bad_file(f"{self.path}: the tensor {shown(name)} has {axes} axes")
            shape = tuple(self._take(file, "Q") for _ in range(axes))[::-1]
            self.tensors[name] = Tensor(name, shape, self._take(file, "I"), self._take(file, "Q"))
        alignment = self.fields.get("general.alignment", 32)
        if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1) != 0:
            bad_file(f"{self.path}: general.alignment is {alignment}")
        self.data = -(-file.tell() // alignment) * alignment

    def tensor(self, name: str) -> np.ndarray:
        """
        A tensor's numbers, float32 in its shape, rows first. Raises Problem (3) if the file has no such tensor,
        if it is in another type than F32, F16 and Q8_0, or if its data aren't all there.
        """
        tensor = self.tensors.get(name)
        if tensor is None:
            bad_file(f"{self.path} has no tensor {shown(name)}")
        if tensor.kind not in TYPES:
            known = ", ".join(kind[0] for kind in TYPES.values())
            bad_file(f"{self.path}: {shown(name)} is of the type {tensor.kind}; {known} are read")
        kind, block, block_bytes = TYPES[tensor.kind]
        count = 1
        for length in tensor.shape:
            count *= length
        if count == 0 or tensor.shape[-1] % block != 0:
            bad_file(f"{self.path}: {shown(name)} has the shape {tensor.shape}")
        size = count // block * block_bytes
        if size > self.size or tensor.offset > self.size - size - self.data:
            bad_file(f"{self.path}: {shown(name)} lies beyond the end of the file")
        need_memory(size + 9 * count, f"{self.path}, {shown(name)}")
        try:
            with open(self.path, "rb") as file:
                file.seek(self.data + tensor.offset)
                data = file.read(size)
        except OSError as error:
            bad_file(f"{self.path} can't be read: {error.strerror}")
        if len(data) != size:
            bad_file(f"{self.path} ends in {shown(name)}")
        if kind == "Q8_0":
            # A block: a scale d in F16, and 32 whole numbers of 8 bits. A number is d times one of them.
            blocks = np.frombuffer(data, np.dtype([("d", "<f2"), ("q", "i1", 32)]))
            scales = blocks["d"].astype(np.float32)
            with np.errstate(invalid="ignore"):  # what isn't finite is refused below
                flat = (scales[:, None] * blocks["q"]).astype(np.float32).ravel()
        else:
            flat = np.frombuffer(data, "<f4" if kind == "F32" else "<f2").astype(np.float32)
        if not np.isfinite(flat).all():
            bad_file(f"{self.path}: {shown(name)} has numbers that aren't finite")
        return flat.reshape(tensor.shape)
