"""`clew path`, `timeline`, `communities`, `topics` and `subgraph`."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from clew.cli.common import Common
from clew.cli.errors import note
from clew.cli.options import (
    AsOfOption,
    MaxTokensOption,
    NameArgument,
    OutputOption,
    QuestionArgument,
    read_question,
)
from clew.cli.output import printable, stdout_console, to_json, write_json, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew.query.relevant import RelevantGraph
    from clew.types import RelationEvidence, TimelineEntry

LimitOption = Annotated[int, typer.Option(metavar="N", min=1, help="Entries, at most.")]


class SubgraphFormat(StrEnum):
    """What `clew subgraph` writes."""

    text = "text"
    json = "json"
    graphml = "graphml"


def path(
    common: Common,
    source: Annotated[str, typer.Argument(metavar="A", help="An entity, by any name.")],
    target: Annotated[str, typer.Argument(metavar="B", help="Another entity.")],
    max_hops: Annotated[
        int, typer.Option(metavar="N", min=1, max=5, help="Steps of a path, at most.")
    ] = 3,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="Paths, at most.")] = 5,
) -> None:
    """Show how two entities are tied: the paths between them, fewest hops first."""
    with common.open() as engine:
        found, notes = engine.paths(source, target, max_hops=max_hops, limit=limit)
    if common.json:
        write_json({"paths": found, "notes": notes})
        return
    for way in found:
        _print_path(way)
    for remark in notes:
        note(f"Note: {remark}")
    if not found:
        note(f"No path of at most {max_hops} hops.")


def _print_path(way: tuple[RelationEvidence, ...]) -> None:
    from rich.text import Text

    console = stdout_console()
    hops = f"{len(way)} hop{'s' if len(way) > 1 else ''}"
    console.print(Text(hops, style="bold"))
    for tie in way:
        line = Text("  ")
        line.append(printable(tie.head), style="bold cyan")
        line.append(f" — {printable(tie.relation)} → ")
        line.append(printable(tie.tail), style="bold cyan")
        console.print(line)
        if tie.evidence:
            said = Text(f"    “{printable(' '.join(tie.evidence.split()))}”", style="italic")
            if tie.provenance:
                place = tie.provenance.title or tie.provenance.source
                said.append(f" ({printable(place)})", style="dim")
            console.print(said)
    console.print()


def timeline(
    common: Common,
    name: NameArgument,
    limit: LimitOption = 100,
    as_of: AsOfOption = None,
) -> None:
    """Print what is known of an entity, in order of time."""
    with common.open() as engine:
        found = engine.timeline(name, limit=limit, as_of=as_of)
    if common.json:
        write_json(found)
    elif found:
        from clew.cli.tables import table

        rows = [(_when(e), e.text, _where(e)) for e in found]
        stdout_console().print(table(("when", "what", "source"), rows))
    else:
        note(f"Nothing that is known of {printable(name)!r} has a date.")


def _when(entry: TimelineEntry) -> str:
    start, end = entry.period.start, entry.period.end
    if entry.period.text:
        return entry.period.text
    if start is None:
        return f"until {end:%Y-%m-%d}"
    if end is None:
        return f"since {start:%Y-%m-%d}"
    return f"{start:%Y-%m-%d} to {end:%Y-%m-%d}"


def _where(entry: TimelineEntry) -> str:
    origin = entry.provenance
    return "" if origin is None else origin.title or origin.source


def communities(
    common: Common,
    level: Annotated[int, typer.Option(metavar="N", min=0, help="Level; 0 is the coarsest.")] = 0,
    limit: LimitOption = 20,
    reports: Annotated[
        bool, typer.Option("--reports", help="Print the reports, not the list alone.")
    ] = False,
) -> None:
    """List the communities of the graph: entities that are tied to each other most."""
    with common.open() as engine:
        found = engine.community_reports(level, limit)
    if common.json:
        write_json(found)
        return
    if reports:
        for community in found:
            typer.echo(f"# {printable(community.title)}\n\n{printable(community.summary)}\n")
    elif found:
        from clew.cli.tables import table

        rows = [(c.id, c.size, c.title, ", ".join(c.entities[:5])) for c in found]
        stdout_console().print(table(("id", "entities", "title", "central"), rows))
    if not found:
        note(f"No communities at level {level}.")


def topics(common: Common, limit: LimitOption = 50) -> None:
    """List the topics of the store: key phrases that several passages are on."""
    with common.open() as engine:
        found = engine.topics(limit)
    if common.json:
        write_json(found)
    elif found:
        from clew.cli.tables import table

        rows = [(t.name, t.theme, t.passages, t.documents) for t in found]
        stdout_console().print(table(("topic", "theme", "passages", "documents"), rows))
    else:
        note("No phrase ties two passages.")


def subgraph(
    common: Common,
    question: QuestionArgument,
    format: Annotated[
        SubgraphFormat,
        typer.Option(
            "--format", metavar="FORMAT", help="`text`: for a language model; `json`; `graphml`."
        ),
    ] = SubgraphFormat.text,
    hops: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=3,
            help="All within so many hops of the question's entities; else the tree that ties them.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=2, help="Entities, at most.")] = 50,
    max_tokens: MaxTokensOption = None,
    output: OutputOption = None,
) -> None:
    """Print the part of the graph that matters to a question."""
    with common.open() as engine:
        engine.warm()
        found = engine.subgraph(
            read_question(question), hops=hops, limit=limit, max_tokens=max_tokens
        )
    pieces = _pieces(found, SubgraphFormat.json if common.json else format)
    if output is None:
        sys.stdout.writelines(pieces)
    else:
        write_whole(output, pieces)
        typer.echo(f"{output.stat().st_size:,} bytes written to {printable(str(output))}")
    for remark in found.notes:
        note(f"Note: {remark}")


def _pieces(found: RelevantGraph, format: SubgraphFormat) -> Iterator[str]:
    """What is written of a subgraph, line end included."""
    if format is SubgraphFormat.graphml:
        yield from found.to_graphml()
    elif format is SubgraphFormat.json:
        yield f"{to_json(found.to_dict())}\n"
    elif found.context.text:
        yield f"{printable(found.context.text)}\n"
