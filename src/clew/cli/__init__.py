"""The command `clew`: the library's verbs at a shell.

Data goes to standard output; progress, notes and errors go to standard error. Both pass through
`clew.cli.output`, which lets no text steer a terminal. A command starts as fast as it can, so each
imports what it needs when it runs, and `--json` never loads rich.
"""

from __future__ import annotations

import gc

COLLECTED_AFTER = 50_000
"""New objects after which garbage is looked for. What a start makes, modules above all, stays."""


def main() -> None:
    """Run the command that the process's arguments name, and exit with its status."""
    gc.set_threshold(COLLECTED_AFTER)
    try:
        from clew.cli.output import safe_output

        with safe_output():
            from clew.cli.app import app

            app(prog_name="clew")
    except KeyboardInterrupt:
        # While modules were loaded; a command that was begun says so itself (`clew.cli.errors`).
        raise SystemExit(130) from None
