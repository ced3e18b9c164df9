"""A search and how its result is printed; it loads none of what reads options and settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from clew.cli.common import INCOMPLETE, Common, note, reported_errors, silence_driver, steps
from clew.cli.output import stdout_page, write_json, write_line
from clew.types import NamedStrategy

if TYPE_CHECKING:
    from clew.types import SearchResult


def run_search(
    common: Common,
    question: str,
    *,
    namespaces: Sequence[str] = (),
    context: bool = False,
    citations: bool = False,
    explain: bool = False,
    strategy: str | None = None,
    **options: Any,  # noqa: ANN401 - those of `Search.__call__`
) -> None:
    """Ask, and print what is found; raises `SystemExit` where it does not answer the question."""
    with common.first_of(namespaces).open(light=True) as engine:
        if strategy != "keyword":
            engine.state.warm()
        named = None if strategy is None else NamedStrategy(strategy)
        with steps(shown=not common.json) as progress:
            engine.state.progress = progress
            result = engine.search(question, strategy=named, namespaces=namespaces, **options)
    if common.json:
        write_json(result.to_dict())
    else:
        if context:
            write_line(result.context.text)
        else:
            print_result(result, explain=explain)
        if citations:
            from clew.search.answer.blocks import format_citations

            write_line(f"\nSources:\n{format_citations(result)}")
        for remark in result.notes:
            note(f"Note: {remark}")
        if not result.hits:
            note("Nothing found.")
    if not result.reached and result.hits:
        raise SystemExit(INCOMPLETE)


def print_result(result: SearchResult, limit: int | None = None, *, explain: bool = False) -> None:
    """Print the first passages of a result (None: all), each with its citation and its path."""
    from clew.cli.render import print_parts, print_passages, print_route

    page = stdout_page()
    if explain:
        print_route(page, result)
    print_parts(page, result)
    print_passages(page, result, limit, explain=explain)


# The quick way into `clew search`: plain arguments are read without typer, which is slow to load.
#
# Whatever is not understood here, `clew.cli.app` reads, and says what is wrong with it.


TEXTS = {
    "--store": "store",
    "--namespace": "namespace",
    "--strategy": "strategy",
    "--limit": "limit",
    "--top-k": "limit",
}
"""Options with a value."""
FLAGS = {"--json": "json"}


def read_plainly(arguments: Sequence[str]) -> dict[str, Any] | None:
    """The question and the options by name; None where anything is not plain."""
    rest = iter(arguments[1:] if arguments[:1] == ["search"] else ())
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
    silence_driver()
    common = {name: given[name] for name in ("store", "namespace", "json") if name in given}
    with reported_errors():
        run_search(Common(**common), **{name: given[name] for name in given if name not in common})
    raise SystemExit(0)
