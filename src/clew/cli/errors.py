"""How a command ends: exit statuses, and errors in one line."""

from __future__ import annotations

import logging
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from clew.errors import ClewError

INCOMPLETE = 1
"""Done, but something was left out or found to be wrong."""
FAILED = 2
"""Wrong use, or the command could not do its work."""
INTERRUPTED = 130
"""Ended by Ctrl-C, as shells report it: 128 and the signal's number."""
PIPE_CLOSED = 141
"""The reader of standard output went away, as shells report it."""

_log = logging.getLogger("clew.cli")


@contextmanager
def reported_errors() -> Iterator[None]:
    """Turn whatever goes wrong inside into one line on standard error and an exit status.

    Raises:
        SystemExit: with the status, in place of the error.
    """
    try:
        yield
        sys.stdout.flush()
    except ClewError as error:
        raise _failure(error.line) from error
    except KeyboardInterrupt as error:
        again = shlex.join(["clew", *sys.argv[1:]])
        note(f"Interrupted; the store is consistent. To go on: {again}")
        raise SystemExit(INTERRUPTED) from error
    except BrokenPipeError as error:
        # The interpreter flushes standard output once more at exit, and would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(PIPE_CLOSED) from error
    except OSError as error:
        place = f": {os.fspath(error.filename)!r}" if error.filename else ""
        raise _failure(f"{error.strerror or error}{place}") from error


def note(message: str) -> None:
    """Print one line on standard error."""
    sys.stderr.write(f"{' '.join(message.splitlines())}\n")


def _failure(message: str) -> SystemExit:
    _log.debug("the command failed", exc_info=True)
    note(f"Error: {message}")
    return SystemExit(FAILED)
