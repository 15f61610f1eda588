"""Loads the packages that all of these tools need, or ends the program with how to get them."""

from __future__ import annotations

import importlib
import sys

DEBIAN = "python3-numpy python3-scipy python3-sklearn python3-matplotlib"


def need(*names: str) -> None:
    """Ends the program (status 1), with one line, if one of these packages can't be loaded."""
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            print(
                f"probes: {name} can't be loaded by {sys.executable} ({reason}); "
                f"on Debian: sudo apt-get install {DEBIAN}",
                file=sys.stderr,
            )
            sys.exit(1)


need("numpy", "scipy", "sklearn")
