"""`clew llm check`."""

from __future__ import annotations

from contextlib import closing

import typer

from clew.cli.common import Common
from clew.cli.errors import INCOMPLETE
from clew.cli.output import stdout_console, write_json
from clew.errors import NoLanguageModelError


def check(common: Common) -> None:
    """Try the language model on a small known text for each task; no store is needed.

    Exit status 1 where it fails at one. A small model may be wrong and still be of use.
    """
    import clew
    from clew.models.llm.check import trials
    from clew.models.llm.client import LanguageModelClient
    from clew.models.llm.providers import make_provider

    settings = clew.load_settings(store=common.store, namespace=common.namespace).llm
    if not settings.provider:
        raise NoLanguageModelError
    with closing(make_provider(settings)) as provider:
        found = list(trials(LanguageModelClient(provider, settings)))
    if common.json:
        write_json({"context_tokens": settings.context_tokens, "trials": found})
    else:
        from clew.cli.tables import table

        columns = ("task", "model", "", "seconds", "tokens/s", "found")
        rows = [
            (t.what, t.model, "ok" if t.ok else "FAILED", t.seconds, t.tokens_per_second, t.found)
            for t in found
        ]
        stdout_console().print(table(columns, rows))
    if not all(trial.ok for trial in found):
        raise typer.Exit(INCOMPLETE)
