"""`clew path`, `timeline`, `communities`, `topics` and `subgraph`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from clew.cli.errors import note
from clew.cli.options import (
    AsOfOption,
    Common,
    MaxTokensOption,
    NameArgument,
    OutputOption,
    SinceOption,
    UntilOption,
    comma_separated,
    matched,
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
from clew.text import counted, one_line, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew.engine import Engine
    from clew.search.strategies.subgraph import QuestionSubgraph
    from clew.types import (
        Alias,
        Community,
        Entity,
        MergeSuggestion,
        Provenance,
        RelationEvidence,
        TimelineEntry,
    )


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
        from clew.cli.render import table

        rows = [(_when(e), e.text, _where(e)) for e in found]
        stdout_console().print(table(("when", "what", "source"), rows))
    else:
        note(
            f"Nothing that is known of {name!r} has a date"
            f"{' in the time asked for' if since or until or as_of else ''}."
        )


def _when(entry: TimelineEntry) -> str:
    from clew.cli.render import date_range

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
        from clew.cli.render import table

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
        from clew.cli.render import table

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


# `clew entity …`, `clew relation delete` and `clew prune`.


FOUND_BY_NAME = 1000
"""Entities with a text in a name that are looked at, at most."""


def list_entities(
    common: Common,
    text: Annotated[
        str, typer.Argument(help="Part of a name; without it, the most important entities.")
    ] = "",
    entity_type: Annotated[
        str, typer.Option("--type", metavar="TYPE", help="Of this type alone: person, place, …")
    ] = "",
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="Entities, at most.")] = 20,
) -> None:
    """List entities: those with a text in a name, else those that the graph leads to most."""
    with common.open() as engine:
        if text:
            near = engine.entities.find(text, FOUND_BY_NAME)
            found = [one for one in near if entity_type in ("", one.entity_type)][:limit]
        else:
            ranked = engine.graph.importance(entity_type=entity_type, limit=limit)
            found = [one.entity for one in ranked]
    if common.json:
        write_json(found)
    elif found:
        from clew.cli.render import table

        rows = [(e.name, e.entity_type, e.tier, e.mentions, e.documents) for e in found]
        columns = ("entity", "type", "tier", "mentions", "documents")
        stdout_console().print(table(columns, rows))
    else:
        write_line("no entity is like that" if text or entity_type else "there are no entities")


def show(
    common: Common,
    name: NameArgument,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="Relations, at most.")] = 20,
) -> None:
    """Print an entity: its names, why each is one, and its relations."""
    with common.open() as engine:
        found = matched(engine, name)
        entity = engine.entities.get(found)
        aliases = engine.entities.aliases(found)
        relations = engine.graph.relations(found, limit)
    if common.json:
        write_json({"entity": entity, "aliases": aliases, "relations": relations})
    else:
        _print(entity, aliases, relations)


def _print(entity: Entity, aliases: list[Alias], relations: list[RelationEvidence]) -> None:
    from clew.cli.render import date_range, facts, table

    console = stdout_console()
    console.print(
        facts({name: value for name, value in asdict(entity).items() if value not in ("", None)})
    )
    console.print()
    names = [(a.name, a.method, a.score, a.evidence) for a in aliases]
    console.print(table(("name", "tied by", "score", "evidence"), names))
    if relations:
        rows = [
            (r.head, r.relation, r.tail, date_range(r.valid_from, r.valid_until), r.evidence)
            for r in relations
        ]
        console.print()
        console.print(table(("from", "relation", "to", "held", "evidence"), rows))


def merge(
    common: Common,
    source: Annotated[str, typer.Argument(help="The entity that is given up.")],
    target: Annotated[str, typer.Argument(help="The entity that takes all its names.")],
) -> None:
    """Make two entities one; indexing again remembers it."""
    with common.open() as engine:
        engine.entities.merge(source, target)
        entity = engine.entities.get(target)
    _print_entity(common, entity)


def split(
    common: Common,
    name: NameArgument,
    aliases: Annotated[
        list[str], typer.Argument(metavar="ALIAS", help="Names that are another entity's.")
    ],
) -> None:
    """Take names out of an entity into one of their own; indexing again remembers it."""
    with common.open() as engine:
        entity = engine.entities.split(name, aliases)
    _print_entity(common, entity)


def suggest(
    common: Common,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="Pairs, at most.")] = 50,
) -> None:
    """List pairs of entities that may be one, the surest first, each with the reason.

    `clew entity merge` makes a pair one, `clew entity refuse` keeps it apart for good.
    """
    with common.open() as engine:
        found = engine.entities.suggest(limit)
    if common.json:
        write_json(found)
    elif found:
        from clew.cli.render import table

        rows = [(s.source, s.target, f"{s.confidence:.2f}", _why(s)) for s in found]
        columns = ("entity", "may be", "confidence", "reason")
        stdout_console().print(table(columns, rows))
    else:
        write_line("no two entities look like one")


def _why(pair: MergeSuggestion) -> str:
    said = f"; a model says {pair.verdict}: {pair.description.sourced}" if pair.description else ""
    return f"{pair.reason}{said}"


def refuse(
    common: Common,
    name: Annotated[str, typer.Argument(help="An entity.")],
    other: Annotated[str, typer.Argument(help="Another, which it is not.")],
) -> None:
    """Say that two entities are not one; indexing again remembers it."""
    with common.open() as engine:
        engine.entities.refuse(name, other)
    if common.json:
        write_json({"apart": [name, other]})
    else:
        write_line(f"{one_line(name)} and {one_line(other)} stay apart")


def rename(
    common: Common,
    name: NameArgument,
    new_name: Annotated[str, typer.Argument(metavar="NEW-NAME", help="What to show it under.")],
) -> None:
    """Show an entity under another name; the old one stays one of its names."""
    with common.open() as engine:
        engine.entities.rename(name, new_name)
        entity = engine.entities.get(new_name)
    _print_entity(common, entity)


def retract(
    common: Common,
    relations: Annotated[
        list[int],
        typer.Argument(metavar="RELATION", min=1, help="Ids of relations, as `clew export` says."),
    ],
) -> None:
    """Say that relations are wrong; indexing again remembers it."""
    with common.open() as engine:
        retracted = engine.entities.retract(relations)
    if common.json:
        write_json({"retracted": retracted})
    else:
        write_line(f"{retracted:,} of {counted(len(set(relations)), 'relation')} retracted")


def delete_relation(
    common: Common,
    relation: Annotated[
        int,
        typer.Argument(metavar="RELATION", min=1, help="Id of a relation, as `clew export` says."),
    ],
) -> None:
    """Take a relation back, even where texts state it; indexing again remembers it."""
    with common.open() as engine:
        deleted = engine.graph.delete_relation(relation)
    if common.json:
        write_json({"relation": relation, "deleted": deleted})
    else:
        write_line(f"relation {relation} deleted, {counted(deleted, 'statement')} of it taken back")


def restore_pruned(common: Common) -> None:
    """Bring back the relations that `clew prune` took back, but none that was deleted by hand."""
    with common.open() as engine:
        restored = engine.graph.restore_pruned()
    if common.json:
        write_json({"restored": restored})
    else:
        write_line(f"{counted(restored, 'statement')} restored")


def prune(
    common: Common,
    below: Annotated[
        float, typer.Option(metavar="WEIGHT", help="Take back what weighs less, 0 to 1.")
    ],
    apply: Annotated[
        bool, typer.Option("--apply", help="Do it; else only show what would be taken back.")
    ] = False,
    entities: Annotated[
        bool, typer.Option("--entities", help="Entities whose confidence is less, too.")
    ] = False,
) -> None:
    """List the relations that little speaks for, with the reason; take them back with --apply.

    Never what was stated by hand. Indexing again remembers it; `clew relation restore` brings
    pruned relations back, `clew entity restore` pruned entities.
    """
    with common.open() as engine:
        report = engine.graph.prune(below=below, dry_run=not apply, entities=entities)
    if common.json:
        write_json(report)
        return
    for one in report.relations:
        said = one.relation
        fact = f"{said.head} —{said.relation}→ {said.tail}"
        write_line(f"{one_line(fact)}: {one_line(one.reason)}")
    for unsure in report.entities:
        write_line(f"{one_line(unsure.name)} ({unsure.entity_type}): {unsure.reason}")
    done = "taken back" if report.applied else "would be taken back; --apply does it"
    also = f" and {counted(len(report.entities), 'entity', 'entities')}" if entities else ""
    write_line(f"{counted(len(report.relations), 'relation')}{also} {done}")


def pruned(common: Common) -> None:
    """List the names of the entities that `clew prune --entities` took out."""
    with common.open() as engine:
        names = engine.graph.pruned_names()
    if common.json:
        write_json(names)
    else:
        for name in names:
            write_line(one_line(name))


def restore(
    common: Common,
    names: Annotated[list[str], typer.Argument(metavar="NAME…", help="Names that were pruned.")],
) -> None:
    """Let texts make entities of pruned names again: those that are indexed from then on."""
    with common.open() as engine:
        restored = engine.graph.restore_names(*names)
    if common.json:
        write_json({"restored": restored})
    else:
        write_line(f"{counted(restored, 'name')} restored; `clew reindex` reads the texts again")


def neighbors(
    common: Common,
    name: NameArgument,
    depth: Annotated[int, typer.Option(metavar="N", min=1, help="Steps away, at most.")] = 1,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="Entities, at most.")] = 50,
) -> None:
    """List the entities around an entity, and what ties them to it."""
    with common.open() as engine:
        entity = matched(engine, name)
        found = engine.graph.neighbors(entity, depth=depth, limit=limit)
    if common.json:
        write_json(found)
    elif found:
        from clew.cli.render import table

        columns = ("entity", "relation", "weight", "depth", "evidence")
        rows = [(n.entity.name, n.relation, n.weight, n.depth, n.evidence) for n in found]
        stdout_console().print(table(columns, rows))


def _print_entity(common: Common, entity: Entity) -> None:
    if common.json:
        write_json(entity)
    else:
        counts = f"{counted(entity.mentions, 'mention')} in {counted(entity.documents, 'document')}"
        write_line(f"{one_line(entity.name)} ({entity.entity_type}), {counts}")
