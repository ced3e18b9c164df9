"""`clew topics`, `clew subgraph` and `clew entity show`: what of the graph no tool tells whole."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal

import typer

from clew.cli.common import Common
from clew.cli.errors import note
from clew.cli.options import MaxTokensOption, OutputOption, comma_separated, read_question
from clew.cli.output import print_below, print_facts, to_json, write_json, write_line, write_out
from clew.cli.progress import steps
from clew.cli.safe_stream import printable
from clew.text import one_line


def topics(
    common: Common,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="Entries, at most.")] = 50,
) -> None:
    """List the topics of the store: key phrases that several passages are on."""
    with common.open() as engine, steps(shown=not common.json) as engine.state.progress:
        found = engine.graph.topics(limit)
    rows = [(t.name, t.theme, t.passages, t.documents) for t in found]
    common.table(found, ("topic", "theme", "passages", "documents"), rows)
    if common.json:
        return
    for topic in found:
        if topic.description:
            write_line(f"{one_line(topic.name)}: {topic.description.sourced}")
    if not found:
        note("No topics: it takes a phrase that stands in several passages.")


def subgraph(
    common: Common,
    question: Annotated[
        list[str] | None,
        typer.Argument(metavar="QUESTION", help="Words of the question; `-` reads it."),
    ] = None,
    entity_ids: Annotated[
        str,
        typer.Option(
            "--entity-ids",
            metavar="IDS",
            help="Of these entities in place of a question's, with commas between them.",
        ),
    ] = "",
    format: Annotated[
        Literal["text", "json", "graphml"],
        typer.Option(
            "--format", metavar="FORMAT", help="`text`, for a language model; `json`; `graphml`."
        ),
    ] = "text",
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
    ids = comma_separated(entity_ids)
    if not all(id_.isdecimal() for id_ in ids):
        raise typer.BadParameter(
            f"--entity-ids takes numbers with commas between, not {entity_ids!r}"
        )
    with common.open() as engine:
        engine.state.warm()
        found = engine.graph.subgraph(
            read_question(question or []),
            entity_ids=list(map(int, ids)),
            hops=hops,
            limit=limit,
            max_tokens=max_tokens,
        )
    if format == "graphml" and not common.json:
        write_out(output, found.to_graphml())
    elif format == "json" or common.json:
        write_out(output, [f"{to_json(found.to_dict())}\n"])
    elif found.context.text or output:
        write_out(output, [f"{printable(found.context.text)}\n"])
    for remark in found.notes:
        note(f"Note: {remark}")


def show(
    common: Common,
    name: Annotated[str, typer.Argument(metavar="NAME", help="An entity, by any name.")],
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="Relations, at most.")] = 20,
) -> None:
    """Print an entity: its names, why each is one, and its relations."""
    with common.open() as engine:
        found, remark = engine.entities.match(name)
        if remark:
            note(f"Note: {remark}")
        entity = engine.entities.get(found)
        aliases = engine.entities.aliases(found)
        relations = engine.graph.relations(found, limit)
    if common.json:
        write_json({"entity": entity, "aliases": aliases, "relations": relations})
        return
    from clew.cli.render import date_range

    known = {name: value for name, value in asdict(entity).items() if value not in ("", None)}
    print_facts(known)
    print_below(
        ("name", "tied by", "score", "evidence"),
        [(a.name, a.method, a.score, a.evidence) for a in aliases],
    )
    print_below(
        ("from", "relation", "to", "held", "evidence"),
        [
            (r.head, r.relation, r.tail, date_range(r.valid_from, r.valid_until), r.evidence)
            for r in relations
        ],
    )
