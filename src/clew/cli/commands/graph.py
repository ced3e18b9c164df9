"""`clew path`, `timeline`, `communities`, `topics` and `subgraph`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from clew.cli.common import Common, matched
from clew.cli.errors import note
from clew.cli.options import (
    AsOfOption,
    MaxTokensOption,
    NameArgument,
    OutputOption,
    SinceOption,
    UntilOption,
    comma_separated,
    read_question,
)
from clew.cli.output import (
    stdout_console,
    stdout_page,
    to_json,
    write_json,
    write_line,
    write_whole,
)
from clew.cli.progress import steps
from clew.cli.safe_stream import printable
from clew.text import one_line, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew.engine import Engine
    from clew.search.strategies.subgraph import QuestionSubgraph
    from clew.types import Community, Provenance, TimelineEntry

LimitOption = Annotated[int, typer.Option(metavar="N", min=1, help="Entries, at most.")]


def path(
    common: Common,
    source: Annotated[str, typer.Argument(metavar="A", help="An entity, by any name.")],
    target: Annotated[str, typer.Argument(metavar="B", help="Another entity.")],
    max_hops: Annotated[
        int, typer.Option(metavar="N", min=1, max=5, help="Steps of a path, at most.")
    ] = 3,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="Paths, at most.")] = 5,
    weighted: Annotated[
        bool,
        typer.Option("--weighted", help="The strongest path alone: strengths multiply."),
    ] = False,
) -> None:
    """Show how two entities are tied: the paths between them, fewest hops first."""
    with common.open() as engine:
        ends = [matched(engine, name) for name in (source, target)]
        found, notes = engine.graph.paths(*ends, max_hops=max_hops, limit=limit, weighted=weighted)
    if common.json:
        write_json({"paths": found, "notes": notes})
        return
    if found:
        from clew.cli.render import print_path

        page = stdout_page()
        for way in found:
            print_path(page, way)
    for remark in notes:
        note(f"Note: {remark}")
    if not found:
        note(f"No path of at most {max_hops} hops.")


def timeline(
    common: Common,
    name: NameArgument,
    limit: LimitOption = 100,
    since: SinceOption = None,
    until: UntilOption = None,
    as_of: AsOfOption = None,
) -> None:
    """Print what is known of an entity, in order of time."""
    with common.open() as engine:
        entity = matched(engine, name)
        found = engine.graph.timeline(entity, limit=limit, since=since, until=until, as_of=as_of)
    if common.json:
        write_json(found)
    elif found:
        from clew.cli.tables import table

        rows = [(_when(e), e.text, _where(e)) for e in found]
        stdout_console().print(table(("when", "what", "source"), rows))
    else:
        note(
            f"Nothing that is known of {name!r} has a date"
            f"{' in the time asked for' if since or until or as_of else ''}."
        )


def _when(entry: TimelineEntry) -> str:
    from clew.cli.date_ranges import date_range

    return entry.period.text or date_range(entry.period.start, entry.period.end)


def _where(entry: TimelineEntry) -> str:
    origin = entry.provenance
    return "" if origin is None else origin.title or origin.source


def communities(
    common: Common,
    level: Annotated[int, typer.Option(metavar="N", min=0, help="Level; 0 is the coarsest.")] = 0,
    limit: LimitOption = 20,
    query: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Those nearest in meaning first, else the largest.",
            show_default=False,
        ),
    ] = None,
    reports: Annotated[
        bool, typer.Option("--reports", help="Print the reports, not the list alone.")
    ] = False,
) -> None:
    """List the communities of the graph: entities that are tied to each other most."""
    with common.open() as engine:
        _update(engine, common)
        found = engine.graph.communities(level, limit, query)
        origins = engine.store.provenance([id_ for c in found for id_ in c.sources])
    sources = {c.id: [origins[id_] for id_ in c.sources if id_ in origins] for c in found}
    if common.json:
        write_json([{**asdict(c), "sources": sources[c.id]} for c in found])
    elif reports:
        for community in found:
            write_line(_report(community, sources[community.id]))
    elif found:
        from clew.cli.tables import table

        rows = [(c.id, c.level, c.size, c.title, ", ".join(c.entities[:5])) for c in found]
        stdout_console().print(table(("id", "level", "entities", "title", "central"), rows))
    if not found:
        note("No communities: it takes three entities that are tied.")


def _report(community: Community, sources: list[Provenance]) -> str:
    """A report in Markdown, with the documents that it is made of."""
    places = [f"[{n}] {one_line(s.title or s.source)}" for n, s in enumerate(sources, start=1)]
    head = [f"# {one_line(community.title)}", "", quoted(community.summary), ""]
    return "\n".join([*head, "Sources:", "", *places, ""])


def topics(common: Common, limit: LimitOption = 50) -> None:
    """List the topics of the store: key phrases that several passages are on."""
    with common.open() as engine:
        _update(engine, common)
        found = engine.graph.topics(limit)
    if common.json:
        write_json(found)
    elif found:
        from clew.cli.tables import table

        rows = [(t.name, t.theme, t.passages, t.documents) for t in found]
        stdout_console().print(table(("topic", "theme", "passages", "documents"), rows))
        for topic in found:
            if topic.description:
                write_line(f"{one_line(topic.name)}: {topic.description.sourced}")
    else:
        note("No topics: it takes a phrase that stands in several passages.")


def _update(engine: Engine, common: Common) -> None:
    """Make what is missing of communities and topics; it may take a while, so it is shown."""
    with steps(shown=not common.json) as progress:
        engine.state.update_communities(progress)


class SubgraphFormat(StrEnum):
    """What `clew subgraph` writes."""

    text = "text"
    json = "json"
    graphml = "graphml"


def _entity_ids(text: str) -> list[int]:
    ids = comma_separated(text)
    if not all(id_.isdecimal() for id_ in ids):
        raise typer.BadParameter(f"--entity-ids takes numbers with commas between, not {text!r}")
    return list(map(int, ids))


def subgraph(
    common: Common,
    question: Annotated[
        list[str] | None,
        typer.Argument(metavar="QUESTION", help="Words of the question; `-` reads it."),
    ] = None,
    entity_ids: Annotated[
        str | None,
        typer.Option(
            "--entity-ids",
            metavar="IDS",
            help="Of these entities in place of a question's, with commas between them.",
            show_default=False,
        ),
    ] = None,
    format: Annotated[
        SubgraphFormat,
        typer.Option(
            "--format", metavar="FORMAT", help="`text`, for a language model; `json`; `graphml`."
        ),
    ] = SubgraphFormat.text,
    hops: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=3,
            help="All within so many hops of the question's entities; else the tree that ties"
            " them together.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=2, help="Entities, at most.")] = 50,
    max_tokens: MaxTokensOption = None,
    output: OutputOption = None,
) -> None:
    """Print the part of the graph that matters to a question."""
    with common.open() as engine:
        engine.state.warm()
        found = engine.graph.subgraph(
            read_question(question or []),
            entity_ids=_entity_ids(entity_ids or ""),
            hops=hops,
            limit=limit,
            max_tokens=max_tokens,
        )
    pieces = _pieces(found, SubgraphFormat.json if common.json else format)
    if output is None:
        sys.stdout.writelines(pieces)
    else:
        write_whole(output, pieces)
        if output.is_file():  # no device or pipe
            note(f"{output.stat().st_size:,} bytes written to {output}")
    for remark in found.notes:
        note(f"Note: {remark}")


def _pieces(found: QuestionSubgraph, format: SubgraphFormat) -> Iterator[str]:
    if format is SubgraphFormat.graphml:
        yield from found.to_graphml()
    elif format is SubgraphFormat.json:
        yield f"{to_json(found.to_dict())}\n"
    elif found.context.text:
        yield f"{printable(found.context.text)}\n"
