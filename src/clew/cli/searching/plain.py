"""The quick way into `clew search`: plain arguments are read without typer, which is slow to load.

Whatever is not understood here, `clew.cli.app` reads, and says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

TEXTS = {
    "--store": "store",
    "--namespace": "namespace",
    "--strategy": "strategy",
    "--limit": "limit",
    "--top-k": "limit",
}
"""Options with a value."""
FLAGS = {"--json": "json"}
NAMES = ("search", "query")


def read_plainly(arguments: Sequence[str]) -> dict[str, Any] | None:
    """The question and the options by name; None where anything is not plain."""
    rest = iter(arguments[1:] if arguments and arguments[0] in NAMES else ())
    given: dict[str, Any] = {}
    words: list[str] = []
    for argument in rest:
        if argument in FLAGS:
            given[FLAGS[argument]] = True
        elif argument in TEXTS:
            value = next(rest, "-")
            if value.startswith("-"):
                return None
            given[TEXTS[argument]] = value
        elif argument.startswith("-"):
            return None
        else:
            words.append(argument)
    limit = given.get("limit")
    if not words or (limit is not None and not (limit.isascii() and limit.isdecimal())):
        return None
    if limit is not None:
        given["limit"] = int(limit)
    return None if given.get("limit") == 0 else {**given, "question": " ".join(words)}


def search_plainly(given: Mapping[str, Any]) -> NoReturn:
    """Search for what `read_plainly` read, and end as the command does, by `SystemExit`."""
    from clew.cli.common import Common, silence_driver
    from clew.cli.errors import reported_errors
    from clew.cli.searching.run import run_search

    silence_driver()
    common = {name: given[name] for name in ("store", "namespace", "json") if name in given}
    with reported_errors():
        run_search(Common(**common), **{name: given[name] for name in given if name not in common})
    raise SystemExit(0)
