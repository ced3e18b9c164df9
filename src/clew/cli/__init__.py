"""The command `clew`: the library's verbs at a shell.

Data goes to standard output; progress, notes and errors go to standard error. Both pass through
`clew.cli.output`, which lets no text steer a terminal. A command starts as fast as it can, so each
imports what it needs when it runs, and `--json` never loads rich.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from contextlib import suppress

COLLECTED_AFTER = 50_000
"""New objects after which garbage is looked for. What a start makes, modules above all, stays."""


def main() -> None:
    """Run the command that the process's arguments name, and exit with its status."""
    gc.set_threshold(COLLECTED_AFTER)
    try:
        from clew.cli.output import safe_output

        with safe_output():
            try:
                from clew.cli.searching import read_plainly, search_plainly

                given = read_plainly(sys.argv[1:])
                if given is not None:
                    search_plainly(given)
                from clew.cli.app import app

                app(prog_name="clew")
            except (ImportError, AttributeError):
                if others := foreign():  # some of whose files took the place of ours
                    said = f"the module clew is that of {others[0]}, too"
                    raise SystemExit(f"Error: {said}; `clew doctor` says what mends it") from None
                raise
    except KeyboardInterrupt:
        # While modules were loaded; a command that was begun says so itself (`clew.cli.common`).
        raise SystemExit(130) from None


def foreign() -> list[str]:
    """Distributions that have a module `clew` and are not this one."""
    from importlib.metadata import packages_distributions  # slow to load

    return sorted(set(packages_distributions().get("clew", ())) - {"clew"})


def start() -> None:
    """What the shell runs: `main`, where that is a plain search without the interpreter's tidying.

    The store is closed by then, and taking apart what was loaded would take as long as opening it.
    """
    from clew.cli.searching import read_plainly

    status: object = 0
    if read_plainly(sys.argv[1:]) is None:
        return main()
    try:
        main()
    except SystemExit as end:
        status = end.code
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status if isinstance(status, int) else 0)
