"""What a store holds, how sound it is, what it is worth in questions, and its copies."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from clew.cli.commands.asking import try_model
from clew.cli.common import FAILED, INCOMPLETE, Common, note, reporting, steps
from clew.cli.operations import called, takes
from clew.cli.operations import show as show_content
from clew.cli.options import (
    MaxTokensOption,
    OutputOption,
    WhereOption,
)
from clew.cli.output import (
    print_below,
    print_facts,
    print_table,
    to_json,
    write_json,
    write_line,
    write_out,
)
from clew.cli.safe_stream import printable
from clew.derived_files import is_private
from clew.errors import StoreCorruptError
from clew.operations.document_queries import list_documents
from clew.operations.graph_queries import relevant_subgraph
from clew.text import counted, one_line
from clew.types import TERM, CheckReport, Problem

if TYPE_CHECKING:
    from clew.graph.statistics import GraphOverview


def documents(common: Common, where: WhereOption = None) -> None:
    """List the documents of the store."""
    given: dict[str, Any] = {"where": where or [], "limit": 500}
    with common.open() as engine:
        found = called(engine, list_documents, given)
        while found["next_cursor"]:
            more = called(engine, list_documents, {**given, "cursor": found["next_cursor"]})
            found = {**more, "documents": [*found["documents"], *more["documents"]]}
    show_content(common, found)


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
            found = engine.documents.versions(name)
            common.table(
                found,
                ("version", "SHA-256", "indexed", "replaced", "kept"),
                [(v.version, v.sha256, v.indexed_at, v.replaced_at, v.is_kept) for v in found],
            )
            return
        if version is None:
            content = engine.documents.text(name)
        else:
            content = engine.documents.earlier_text(name, version)
        # A chunk is `<document id>#<ordinal>`, the id being 16 hex digits.
        of, _, ordinal = name.rpartition("#")
        document = engine.documents.get(of if len(of) == 16 and ordinal.isdecimal() else name)
    if common.json:
        told = {"version": version or document.version, "name": name, "text": content}
        date = document.date.iso if document.date else None
        write_json({**asdict(document), "date": date, **told})
        return
    if not text and version is None:
        known = {**asdict(document), "language": document.language or "unknown"}
        for field in ("pipeline_fingerprint", "created_at", "date_source", "date_precision"):
            known.pop(field, None)
        if document.date:
            day = document.date.iso[: len("2019-03-02T10:00")]  # without seconds
            known["date"] = f"{day} (from its {document.date_source})"
        common.facts({field: value for field, value in known.items() if value not in (None, "")})
        write_line("")
    write_line(content)


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
    with common.open() as engine:
        if not llm:
            found = engine.maintenance.stats()
            overview = engine.graph.statistics() if graph else None
            common.facts({**found, "graph": overview} if graph and common.json else found)
            if overview is not None and not common.json:
                _print_graph(overview)
            return
        found = engine.maintenance.language_model()
        failed = engine.maintenance.language_model_failures() if failures else []
        passages = engine.enriching.all_failures() if failures else []
    more = {"failed": failed, "passages": passages} if failures and common.json else {}
    common.facts({**found, **more})
    if not common.json:
        print_below(
            ("asked", "task", "model", "about", "reason"),
            [(one.at, one.task, one.model, one.subject, one.reason) for one in failed],
        )
        print_below(("passage", "reason"), [(one.source, one.reason) for one in passages])


def _print_graph(overview: GraphOverview) -> None:
    write_line("")
    print_facts({"graph": asdict(overview.statistics)})
    columns = ("type", "tier", "salience", "degree", "PageRank", "betweenness")
    for name, ranked in (("hub", overview.hubs), ("between", overview.between)):
        rows = [
            (
                *(r.entity.name, r.entity.entity_type, r.entity.tier, r.entity.salience_score),
                *(r.degree, r.pagerank, r.betweenness),
            )
            for r in ranked
        ]
        print_below((name, *columns), rows)
    severed = [(cut.name, cut.severed) for cut in overview.cut_entities]
    severed += [(" — ".join(bridge.ends), bridge.severed) for bridge in overview.bridges]
    print_below(("without", "come off"), severed)
    for remark in overview.notes:
        note(f"Note: {remark}")


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


@takes(relevant_subgraph)
def subgraph(
    common: Common,
    max_tokens: MaxTokensOption = None,
    output: OutputOption = None,
    **given: Any,  # noqa: ANN401 - the operation's
) -> None:
    """Print the part of the graph that matters to a question."""
    given |= {"max_tokens": max_tokens} if max_tokens else {}
    with common.open() as engine:
        engine.state.warm()
        as_json = {"format": "json"} if common.json else {}
        found = called(engine, relevant_subgraph, {**as_json, **given})
    text = to_json(found) if common.json or "text" not in found else printable(found["text"])
    if text or output:
        write_out(output, [f"{text.rstrip()}\n"])
    for remark in () if common.json else found["notes"]:
        note(f"Note: {remark}")


def show_entity(
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
        shown_as = "mention" if entity.entity_type == TERM else "knowledge"
        told = {"shown_as": shown_as, "reason": engine.entities.support(found).reason}
    if common.json:
        write_json({"entity": entity, **told, "aliases": aliases, "relations": relations})
        return
    from clew.cli.render import date_range

    known = {name: value for name, value in asdict(entity).items() if value not in ("", None)}
    print_facts(known | told)
    print_below(
        ("name", "tied by", "score", "evidence"),
        [(a.name, a.method, a.score, a.evidence) for a in aliases],
    )
    print_below(
        ("from", "relation", "to", "held", "said", "evidence"),
        [
            (
                *(r.head, r.relation, r.tail, date_range(r.valid_from, r.valid_until)),
                *(r.statements, r.evidence),
            )
            for r in relations
        ],
    )


def export(
    common: Common,
    format: Annotated[
        Literal["graphml", "jsonl"],
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="`graphml`: the graph; `jsonl`: everything, as JSON Lines.",
        ),
    ] = "jsonl",
    output: OutputOption = None,
    mentions: Annotated[
        bool,
        typer.Option("--all", help="In GraphML, the terms of which nothing is stated, too."),
    ] = False,
) -> None:
    """Write the graph, or all that the store holds, in a format that other programs read.

    Of the JSON Lines, `clew import` takes what was stated by hand into another store.
    """
    with common.open() as engine:
        write_out(output, engine.maintenance.export(format, mentions=mentions))
    if common.json and output is not None and output.is_file():
        write_json({"file": str(output), "format": format, "bytes": output.stat().st_size})


def check(
    common: Common,
    repair: Annotated[
        bool, typer.Option("--repair", help="Mend what can be derived from the rest.")
    ] = False,
    vacuum: Annotated[
        bool,
        typer.Option("--vacuum", help="Write the file anew, without a trace of what was deleted."),
    ] = False,
    llm: Annotated[
        bool,
        typer.Option(
            "--llm",
            help="In place of the store, try the language model on a small known text for each"
            " task; a small one may be wrong and still be of use.",
        ),
    ] = False,
) -> None:
    """Verify that the store is whole, or with --llm that the language model can be used."""
    if llm:
        try_model(common)
        return
    try:
        with common.open() as engine, steps(shown=not common.json) as progress:
            if vacuum:
                engine.maintenance.vacuum()
            report = engine.maintenance.check(repair=repair, progress=progress)
            folder = engine.store.folder
        if not is_private(folder):
            note(
                f"Others on this machine may read {str(folder)!r}; to end that: chmod -R go= FOLDER"
            )
    except StoreCorruptError as error:  # so damaged that it cannot even be opened
        damage = Problem(invariant="integrity", detail=str(error), repairable=False)
        report = CheckReport(checked=("integrity",), problems=(damage,), repaired=())
    counts = f"{len(report.checked):,} invariants checked, {len(report.problems):,} broken"
    common.tell(report, "\n".join([counts, *(f"repaired: {one}" for one in report.repaired)]))
    if report.problems and not common.json:
        rows = [(p.invariant, p.detail, p.repairable) for p in report.problems]
        print_table(("invariant", "found", "repairable"), rows)
        if any(problem.repairable for problem in report.problems):
            write_line("Mend what can be mended with: clew check --repair")
    if report.problems:
        raise typer.Exit(INCOMPLETE)


def reindex(common: Common) -> None:
    """Split, embed and extract again what was made with other settings or another model.

    The new is built beside the store, which goes on as it is until all is ready. Cut short, the
    same command goes on where it was.
    """
    opened = common.open(reads_here=True)
    with opened as engine, reporting(bars=not common.json) as progress:
        report = engine.maintenance.reindex(progress=progress)
    line = f"{counted(report.changed, 'document')} indexed again"
    common.tell({"documents": report.changed}, line)


def backup(
    common: Common, file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file.")]
) -> None:
    """Write the store to a file, while others work on it, and check that file."""
    with common.open() as engine, reporting(bars=not common.json) as progress:
        size = engine.maintenance.backup(file, progress=progress)
    common.tell({"path": file, "bytes": size}, f"{size:,} bytes written and checked")


def restore(
    common: Common,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file from `clew backup`.")],
    confirmed: Annotated[
        bool, typer.Option("--yes", help="Replace what is stored without asking.")
    ] = False,
) -> None:
    """Put a backup in place of all that the store holds."""
    with common.open(make=True) as engine:
        held = engine.maintenance.stats()["documents"]
        if held and not confirmed and file.is_file():  # else restoring says what is missing
            if not sys.stdin.isatty():
                replaced = counted(held, "document")
                note(f"Error: {replaced} would be replaced; add --yes to replace what is stored")
                raise typer.Exit(FAILED)
            if not typer.confirm(f"Replace {counted(held, 'document')}?", err=True):
                raise typer.Exit(INCOMPLETE)
        engine.maintenance.restore(file)
        documents = engine.maintenance.stats()["documents"]
    line = f"{counted(documents, 'document')} restored"
    common.tell({"path": file, "documents": documents}, line)


_DIGITS = 12
"""Of a hash, for people; `--json` gives all."""


def copy(
    common: Common,
    target: Annotated[
        str, typer.Option("--to", metavar="PLACE", help="Where it goes: as --store names places.")
    ],
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="PLACE", help="The store to copy; else the one at --store."),
    ] = None,
    to_namespace: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Its namespace there; else as here.", show_default=False),
    ] = None,
    anew: Annotated[
        bool, typer.Option("--anew", help="Throw away what an unfinished copy left there.")
    ] = False,
) -> None:
    """Copy a whole store to another place, and compare the two; repeated, it goes on."""
    from clew.engine.maintenance import copy as copy_whole
    from clew.settings import load_settings

    here = load_settings(store=source or common.store, namespace=common.namespace)
    there = load_settings(store=target, namespace=to_namespace or here.namespace)
    with reporting(bars=not common.json) as progress:
        report = copy_whole(here, there, anew=anew, progress=progress)
    rows = [(t.name, t.rows, t.digest[:_DIGITS]) for t in report.tables]
    common.table(report, ("table", "rows", "hash"), rows)
    if common.json:
        return
    if report.written:
        rate = report.written / max(report.seconds, 1e-9)
        write_line(
            f"{report.written:,} rows written in {report.seconds:.1f} s ({rate:,.0f}/s);"
            " both stores hold the same"
        )
    else:
        write_line("nothing to write; both stores hold the same")


def import_memory(
    common: Common,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="What `clew export` wrote, memory.jsonl of the reference memory server, or a"
            " SQLite file with the tables entities and relations.",
        ),
    ],
) -> None:
    """Take over the entities, observations and relations of another memory or store.

    Of a store, what was stated by hand; import it before you index. Again adds nothing.
    """
    with common.open(make=True) as engine:
        report = engine.entities.import_memory(file)
    kinds = {"entities": "entity", "observations": "observation", "relations": "relation"}
    new = ", ".join(counted(getattr(report, kind), one, kind) for kind, one in kinds.items())
    known = [
        counted(n, one, kind)
        for kind, one in kinds.items()
        if (n := getattr(report, f"known_{kind}"))
    ]
    lines = [f"{new} new, {len(report.skipped):,} skipped"]
    lines += [f"{', '.join(known)} there before"] if known else []
    lines += [f"{report.documents:,} documents left to `clew index`"] if report.documents else []
    lines += [f"joined: {joined}" for joined in report.joined]
    common.tell(report, "\n".join(lines))
    if report.skipped:
        if not common.json:
            rows = [(item.source, item.reason) for item in report.skipped]
            print_table(("skipped", "reason"), rows)
        raise typer.Exit(INCOMPLETE)
