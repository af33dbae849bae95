"""The command line of the wheel: runs the program `dpledger` that stands beside this package."""
from __future__ import annotations

import os
import sys
from typing import List, Optional

# The folder of a build's programs, for tests.
PROGRAMS = "DPLEDGER_BIN"


def program() -> str:
    """The path of the program: in the folder that DPLEDGER_BIN names, or beside this file.
    FileNotFoundError."""
    stated = os.environ.get(PROGRAMS)
    folders = [stated] if stated else []
    folders.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "bin"))
    for folder in folders:
        path = os.path.join(folder, "dpledger")
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    raise FileNotFoundError(
        "dpledger: the program is not in %s; a wheel of dpledger holds it, and %s names "
        "a folder that does" % (" or ".join(folders), PROGRAMS))


def main(arguments: Optional[List[str]] = None) -> int:
    """Becomes the program, with the arguments of this process or those given. Returns only if it is
    not there: 1."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        path = program()
        os.execv(path, [path, *given])
    except OSError as failed:
        print(failed, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
