"""The command `clew`: the library's verbs at a shell.

Data goes to standard output; progress, notes and errors go to standard error. A command starts as
fast as it can, so each imports what it needs when it runs, and `--json` never loads rich.
"""

from __future__ import annotations

import sys
from io import TextIOWrapper


def main() -> None:
    """Run the command that the process's arguments name, and exit with its status."""
    for stream in (sys.stdout, sys.stderr):
        # A file name or a text may hold what the terminal's encoding cannot say.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    from clew.cli.app import app

    app(prog_name="clew")
