"""A search and how its result is printed; it loads none of what reads options and settings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from clew.cli.common import Common
from clew.cli.errors import INCOMPLETE, note
from clew.cli.output import stdout_page, write_json, write_line
from clew.cli.progress import steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.types import SearchResult


@dataclass(frozen=True, slots=True)
class Shown:
    """What of a result is printed, where it is not JSON: see the options of the same names."""

    context: bool = False
    citations: bool = False
    explain: bool = False


ALL = Shown()


def run_search(
    common: Common,
    question: str,
    *,
    names: Sequence[str] = (),
    shown: Shown = ALL,
    strategy: str | None = None,
    **options: Any,  # noqa: ANN401 - those of `Search.__call__`
) -> None:
    """Ask, and print what is found; raises `SystemExit` where it does not answer the question."""
    # The first of them is opened: it need not be the default, which may not exist.
    opened = replace(common, namespace=names[0]) if names else common
    with opened.open(light=True) as engine:
        if strategy != "keyword":
            engine.state.warm()
        with steps(shown=not common.json) as progress:
            engine.state.progress = progress
            result = engine.search(question, strategy=strategy, namespaces=names, **options)
    if common.json:
        write_json(result.to_dict())
    else:
        _print(result, shown)
    if not result.reached and result.hits:
        raise SystemExit(INCOMPLETE)


def _print(result: SearchResult, shown: Shown) -> None:
    """Print the context alone, its sources behind it, or the passages; then the notes."""
    if shown.context:
        write_line(result.context.text)
        if shown.citations:
            write_line(_sources(result))
    else:
        print_result(result, explain=shown.explain)
    _print_notes(result)


def print_result(result: SearchResult, limit: int | None = None, *, explain: bool = False) -> None:
    """Print the first passages of a result (None: all), each with its citation and its path."""
    from clew.cli.render import print_parts, print_passages, print_route

    page = stdout_page()
    if explain:
        print_route(page, result)
    print_parts(page, result)
    print_passages(page, result, limit, explain=explain)


def _sources(result: SearchResult) -> str:
    from clew.search.answer.citations import format_citations

    return f"\nSources:\n{format_citations(result)}"


def _print_notes(result: SearchResult) -> None:
    for remark in result.notes:
        note(f"Note: {remark}")
    if not result.hits:
        note("Nothing found.")
