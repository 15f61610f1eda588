"""Reads .npy and .npz files of numbers from anyone: the shape is checked before there is memory for it."""

from __future__ import annotations

import os
import zipfile
import zlib
from typing import IO

import numpy as np
from numpy.lib import format as npy

from command import Problem, bad_file, need_memory, shown

MOST_BYTES = 1 << 36
MOST_MEMBERS = 1 << 20
# Deflate makes zeros 1,000 times smaller; states of a model don't become half as large.
MOST_RATIO = 20


def read_array(file: IO[bytes], size: int, name: str) -> np.ndarray:
    """
    The array of an open .npy file (form 1.0 or 2.0) of `size` bytes, as float32 in C order.

    Numbers may have 2, 4 or 8 bytes, in either byte order. Raises Problem (3) for another type (objects,
    which are programs, are never loaded), for a size that isn't the shape's, and for numbers that
    aren't finite. `name` is for the message.
    """
    try:
        version = npy.read_magic(file)
        if version == (1, 0):
            shape, fortran, dtype = npy.read_array_header_1_0(file)
        elif version == (2, 0):
            shape, fortran, dtype = npy.read_array_header_2_0(file)
        else:
            bad_file(f"{name} is .npy of version {version[0]}.{version[1]}; 1.0 and 2.0 are read")
        header = file.tell()
    except Problem:
        raise
    except Exception as error:  # numpy reads the header as Python, and so fails in many ways
        reason = str(error).splitlines() or ["its header is damaged"]
        bad_file(f"{name} isn't .npy: {reason[0]}")
    if dtype.kind != "f" or dtype.itemsize not in (2, 4, 8):
        bad_file(f"{name} has numbers of the type {shown(str(dtype))}; expected float32")
    if any(length < 0 for length in shape):
        bad_file(f"{name} has the shape {shape}")
    count = 1
    for length in shape:
        count *= length
    if count * dtype.itemsize != size - header:
        bad_file(
            f"{name} has the shape {shape}, which takes {count * dtype.itemsize} bytes; "
            f"there are {size - header}"
        )
    # The file's bytes, the numbers as float32, and whether each is finite.
    need_memory(size + 5 * count, name)
    data = file.read(size - header)
    if len(data) != size - header:
        bad_file(f"{name} ends after {len(data)} of {size - header} bytes")
    flat = np.frombuffer(data, dtype)
    array = flat.reshape(shape, order="F" if fortran else "C")
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(array, dtype=np.float32)
    if not np.isfinite(values).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
        bad_file(f"{name} has a number that isn't finite, at {place}")
    return values


def read_npy(path: str) -> np.ndarray:
    """The array of a .npy file. Raises Problem (3) as read_array does, and if the file can't be read."""
    try:
        size = os.path.getsize(path)
        if size > MOST_BYTES:
            bad_file(f"{path} has {size} bytes; at most {MOST_BYTES} are read")
        with open(path, "rb") as file:
            return read_array(file, size, path)
    except OSError as error:
        bad_file(f"{path} can't be read: {error.strerror}")


def read_npz(path: str) -> list[np.ndarray]:
    """
    The arrays of a .npz file whose members are named 0, 1, .. as `sluice probe --positions all` writes
    them. Raises Problem (3) for other names, a member that is no .npy, or one that unpacks to far more
    than there is in the file.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            packed = os.path.getsize(path)
            total = sum(member.file_size for member in members)
            if len(members) > MOST_MEMBERS or total > min(MOST_BYTES, MOST_RATIO * packed):
                bad_file(f"{path} would unpack to {total} bytes in {len(members)} arrays")
            by_name = {member.filename: member for member in members}
            if len(by_name) != len(members):
                bad_file(f"{path} has two arrays of one name")
            arrays = []
            for i in range(len(members)):
                member = by_name.get(f"{i}.npy")
                if member is None:
                    bad_file(f"{path} has {len(members)} arrays, but none named {i}")
                with archive.open(member) as file:
                    arrays.append(read_array(file, member.file_size, f"{path}, array {i}"))
            return arrays
    except OSError as error:
        bad_file(f"{path} can't be read: {error.strerror or error}")
    except (
        zipfile.BadZipFile,
        zlib.error,
        NotImplementedError,
        RuntimeError,
        EOFError,
        ValueError,
    ) as error:
        bad_file(f"{path} isn't a .npz file that can be read: {error}")
