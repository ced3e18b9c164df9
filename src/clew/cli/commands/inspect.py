"""`clew documents`, `show`, `stats` and `export`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clew.cli.common import Common
from clew.cli.errors import note
from clew.cli.options import OutputOption, WhereOption
from clew.cli.output import shown_source, stdout_console, write_json, write_line, write_whole

if TYPE_CHECKING:
    from rich.console import Console

    from clew.graph.statistics import GraphOverview, RankedEntity
    from clew.types import DocumentInfo, DocumentVersion


TITLED = 100
"""Characters of a title in a list: a longer one would widen every line."""


class ExportFormat(StrEnum):
    """What `clew export` writes."""

    graphml = "graphml"
    jsonl = "jsonl"


def documents(
    common: Common,
    where: WhereOption = None,
    versions: Annotated[
        str | None,
        typer.Option(
            "--versions", metavar="DOCUMENT", help="List the versions of one document instead."
        ),
    ] = None,
) -> None:
    """List the documents of the store."""
    if versions is not None and where:
        raise typer.BadParameter("--versions is of one document: leave --where out")
    with common.open() as engine:
        if versions is not None:
            _print_versions(common, engine.documents.versions(versions))
            return
        found = engine.documents.list(where or ())
        for remark in engine.documents.unknown_fields(where or ()):
            note(f"Note: {remark}")
    if common.json:
        write_json([_with_date(document) for document in found])
    elif found:
        from clew.cli.tables import table
        from clew.tools.truncate import shortened

        rows = [
            (d.id, d.chunks, _date(d), shortened(d.title, TITLED), shown_source(d.source))
            for d in found
        ]
        stdout_console().print(table(("id", "chunks", "date", "title", "source"), rows))


def _date(document: DocumentInfo) -> str:
    """Its date as precisely as it is stated, times without their seconds; empty for none."""
    return document.date.iso[: len("2019-03-02T10:00")] if document.date else ""


def _with_date(document: DocumentInfo) -> dict[str, Any]:
    """All that is known of it, with its date as precisely as it is stated."""
    return {**asdict(document), "date": document.date.iso if document.date else None}


def show(
    common: Common,
    name: Annotated[
        str,
        typer.Argument(help="A document's id, source or end of a source; `<id>#3` for a chunk."),
    ],
    text: Annotated[bool, typer.Option("--text", help="Print the text alone.")] = False,
    versions: Annotated[
        bool, typer.Option("--versions", help="Print the digests of the texts that it has had.")
    ] = False,
    version: Annotated[
        int | None,
        typer.Option("--version", min=1, metavar="NUMBER", help="Print the text of a version."),
    ] = None,
) -> None:
    """Print a document, or one chunk of it."""
    with common.open() as engine:
        if versions:
            _print_versions(common, engine.documents.versions(name))
            return
        if version is None:
            content = engine.documents.text(name)
        else:
            content = engine.documents.earlier_text(name, version)
        document = engine.documents.get(name.rpartition("#")[0] if _is_chunk(name) else name)
    if common.json:
        shown = {"version": version or document.version}
        write_json({**_with_date(document), **shown, "name": name, "text": content})
        return
    if not text and version is None:
        _print_facts(document)
    write_line(content)


def _print_versions(common: Common, found: list[DocumentVersion]) -> None:
    if common.json:
        write_json(found)
        return
    from clew.cli.tables import table

    rows = [
        (v.version, v.sha256, v.indexed_at, v.replaced_at, "yes" if v.is_kept else "no")
        for v in found
    ]
    stdout_console().print(table(("version", "SHA-256", "indexed", "replaced", "kept"), rows))


def _is_chunk(name: str) -> bool:
    """Whether the name is a chunk's: `<document id>#<ordinal>`, the id being 16 hex digits."""
    document, _, ordinal = name.rpartition("#")
    return len(document) == 16 and ordinal.isdecimal()


def _print_facts(document: DocumentInfo) -> None:
    from clew.cli.tables import facts

    said = {**asdict(document), "language": document.language or "unknown"}
    known = {name: value for name, value in said.items() if value not in (None, "")}
    for name in ("pipeline_fingerprint", "created_at", "date_source", "date_precision"):
        known.pop(name, None)
    if document.date:
        known["date"] = f"{_date(document)} (from its {document.date_source})"
    console = stdout_console()
    console.print(facts(known))
    console.print()


def stats(
    common: Common,
    graph: Annotated[
        bool,
        typer.Option("--graph", help="Also the graph of entities: its size, hubs and bridges."),
    ] = False,
    llm: Annotated[
        bool, typer.Option("--llm", help="Requests to language models in place of it.")
    ] = False,
    failures: Annotated[
        bool,
        typer.Option("--failures", help="With --llm: what failed, and why."),
    ] = False,
) -> None:
    """Print what the store holds, by number."""
    if failures and not llm:
        raise typer.BadParameter("--failures goes with --llm: clew stats --llm --failures")
    if llm:
        _print_requests(common, failures)
        return
    with common.open() as engine:
        found = engine.maintenance.stats()
        overview = engine.graph.statistics() if graph else None
    if common.json:
        write_json(found if overview is None else {**found, "graph": overview})
        return
    from clew.cli.tables import facts

    console = stdout_console()
    console.print(facts(found))
    if overview is not None:
        _print_graph(console, overview)


def _print_requests(common: Common, failures: bool) -> None:
    with common.open() as engine:
        found = engine.maintenance.language_model()
        failed = engine.maintenance.language_model_failures() if failures else []
        passages = engine.enriching.all_failures() if failures else []
    if common.json:
        write_json({**found, "failed": failed, "passages": passages} if failures else found)
        return
    from clew.cli.tables import facts, table

    console = stdout_console()
    console.print(facts(found))
    if failed:
        console.print()
        rows = [
            (entry.at, entry.task, entry.model, entry.subject, entry.reason) for entry in failed
        ]
        console.print(table(("asked", "task", "model", "about", "reason"), rows))
    if passages:
        console.print()
        console.print(table(("passage", "reason"), [(one.source, one.reason) for one in passages]))


def _print_graph(console: Console, overview: GraphOverview) -> None:
    from clew.cli.tables import facts, table

    console.print()
    console.print(facts({"graph": asdict(overview.statistics)}))
    columns = ("type", "tier", "salience", "degree", "PageRank", "betweenness")
    for name, ranked in (("hub", overview.hubs), ("between", overview.between)):
        if ranked:
            console.print()
            console.print(table((name, *columns), [_ranked(entry) for entry in ranked]))
    severed = [(cut.name, cut.severed) for cut in overview.cut_entities]
    severed += [(" — ".join(bridge.ends), bridge.severed) for bridge in overview.bridges]
    if severed:
        console.print()
        console.print(table(("without", "come off"), severed))
    for remark in overview.notes:
        note(f"Note: {remark}")


def _ranked(entry: RankedEntity) -> tuple[str | float, ...]:
    entity = entry.entity
    about = (entity.name, entity.entity_type, entity.tier, entity.salience_score)
    return (*about, entry.degree, entry.pagerank, entry.betweenness)


def export(
    common: Common,
    format: Annotated[
        ExportFormat,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="`graphml`: the graph; `jsonl`: everything, as JSON Lines.",
        ),
    ] = ExportFormat.jsonl,
    output: OutputOption = None,
) -> None:
    """Write the graph, or all that the store holds, in a format that other programs read.

    Of the JSON Lines, `clew import` takes what was stated by hand into another store.
    """
    with common.open() as engine:
        pieces = engine.maintenance.export(format.value)
        if output is None:
            sys.stdout.writelines(pieces)
            return
        write_whole(output, pieces)
    if not output.is_file():
        return  # a device or a pipe, which may be where this would be said
    if common.json:
        write_json({"file": str(output), "format": format.value, "bytes": output.stat().st_size})
    else:
        write_line(f"{output.stat().st_size:,} bytes written to {output}")
