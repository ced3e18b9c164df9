"""`clew documents`, `show`, `stats` and `export`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clew.cli.commands.llm import Mode, print_estimate
from clew.cli.errors import FAILED, INCOMPLETE, note
from clew.cli.options import (
    Common,
    MaxCostOption,
    MaxTokensSpentOption,
    OutputOption,
    WhereOption,
    comma_separated,
)
from clew.cli.output import shown_source, stdout_console, write_json, write_line, write_whole
from clew.cli.progress import reporting, steps
from clew.derived_files import is_private
from clew.errors import StoreCorruptError
from clew.text import counted
from clew.types import CheckReport, Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from clew.engine.state import Progress
    from clew.graph.statistics import GraphOverview, RankedEntity
    from clew.indexing.manual_graph import MemoryImportReport
    from clew.stores.backend import CopyReport
    from clew.types import DocumentInfo, DocumentVersion

    Measure = Callable[[Path, Progress], dict[str, Any]]


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
        from clew.cli.render import table
        from clew.tools.budget import shortened

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
    from clew.cli.render import table

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
    from clew.cli.render import facts

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
    from clew.cli.render import facts

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
    from clew.cli.render import facts, table

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
    from clew.cli.render import facts, table

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


# `clew check`, `clew audit` and `clew eval`.


def check(
    common: Common,
    repair: Annotated[
        bool, typer.Option("--repair", help="Mend what can be derived from the rest.")
    ] = False,
    vacuum: Annotated[
        bool,
        typer.Option("--vacuum", help="Write the file anew, without a trace of what was deleted."),
    ] = False,
) -> None:
    """Verify that the store is whole."""
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
    if common.json:
        write_json(report)
    else:
        _print_check(report)
    if report.problems:
        raise typer.Exit(INCOMPLETE)


def _print_check(report: CheckReport) -> None:
    write_line(f"{len(report.checked):,} invariants checked, {len(report.problems):,} broken")
    for mended in report.repaired:
        write_line(f"repaired: {mended}")
    if report.problems:
        from clew.cli.render import table

        rows = [(p.invariant, p.detail, p.repairable) for p in report.problems]
        stdout_console().print(table(("invariant", "found", "repairable"), rows))
    if any(problem.repairable for problem in report.problems):
        write_line("Mend what can be mended with: clew check --repair")


def audit(
    common: Common,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="Entries, at most.")] = 50,
    before: Annotated[
        int | None, typer.Option(metavar="ID", min=1, help="Only entries older than that one.")
    ] = None,
    undo: Annotated[
        int | None, typer.Option(metavar="ID", min=1, help="Take that change back first.")
    ] = None,
) -> None:
    """List what was asked to be changed through tools, by whom, and what became of it."""
    with common.open() as engine:
        if undo is not None:
            done = engine.tools.call("undo_change", {"entry_id": undo})
            if done.error is not None:
                raise done.error
        entries = engine.maintenance.audit(before=before, limit=limit)
    if common.json:
        write_json(entries)
    elif entries:
        from clew.cli.render import table

        rows = [
            (
                *(e.id, e.recorded_at, e.caller, e.tool, e.outcome),
                *(json.dumps(e.subjects, ensure_ascii=False), "" if e.undo is None else "yes"),
            )
            for e in entries
        ]
        names = ("id", "when", "caller", "tool", "outcome", "about", "can be undone")
        stdout_console().print(table(names, rows))


def evaluate(
    common: Common,
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR", help="Data sets in the BEIR layout.")
    ],
    strategy: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Strategies to compare, separated by commas; with --answers the last of them is"
            " used.",
        ),
    ] = "vector,keyword,hybrid,graph",
    k: Annotated[
        str, typer.Option("--k", metavar="RANKS", help="Ranks of recall@k, separated by commas.")
    ] = "2,5,10,20",
    rag_types: Annotated[
        bool,
        typer.Option(
            "--rag-types",
            help="Compare traditional, contextual and graph instead: recall@20 failures, tokens of"
            " the context, time.",
        ),
    ] = False,
    split: Annotated[str, typer.Option(help="Which judgements to use: qrels/SPLIT.tsv.")] = "test",
    answers: Annotated[
        bool,
        typer.Option("--answers", help="Measure answers in words, their citations and their cost."),
    ] = False,
    mode: Annotated[
        Mode, typer.Option(metavar="NAME", help="--answers: as clew ask has it.")
    ] = Mode.one_shot,
    questions: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="--answers: the first ones alone.", show_default=False
        ),
    ] = None,
    judge: Annotated[
        bool, typer.Option("--judge", help="--answers: have the language model judge them, too.")
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="--answers: write a page with plots.", show_default=False
        ),
    ] = None,
    max_tokens_spent: MaxTokensSpentOption = None,
    max_cost: MaxCostOption = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="--answers: say what it would take at most; ask no model."),
    ] = False,
) -> None:
    """Measure strategies side by side on data sets; into a temporary store, or one at --store.

    With --answers, what clew ask answers: exact match and F1 where right answers are known.
    """
    if common.store is not None and len(folders) > 1:
        raise typer.BadParameter("--store takes one data set; give one DIR, or leave --store out")
    given = {"max_tokens_spent": max_tokens_spent, "max_cost": max_cost}
    limits = {name: limit for name, limit in given.items() if limit is not None}
    if not answers and any((judge, html, questions, dry_run, limits)):
        raise typer.BadParameter(
            "--judge, --html, --questions, --dry-run, --max-tokens-spent and --max-cost go with"
            " --answers"
        )
    if answers and rag_types:
        raise typer.BadParameter("--rag-types compares passages; leave --answers out")
    strategies = comma_separated(strategy)
    ks = [_rank(item) for item in comma_separated(k)]

    from clew import evaluation
    from clew.settings import load_settings

    settings = load_settings(namespace=common.namespace)
    llm = settings.llm.model_copy(update=limits)
    settings = settings.model_copy(update={"llm": llm})
    if not answers:

        def measure(folder: Path, progress: Progress) -> dict[str, Any]:
            return evaluation.evaluate(
                folder,
                strategies=strategies,
                ks=ks,
                store=common.store,
                settings=settings,
                split=split,
                rag_types=rag_types,
                progress=progress,
            )

        _report(common, folders, measure, evaluation.to_table)
        return

    def over(folder: Path, progress: Progress) -> dict[str, Any]:
        return {
            "folder": folder,
            "strategy": strategies[-1],
            "mode": mode.name_in_library,
            "questions": questions,
            "judged": judge,
            "store": common.store,
            "settings": settings,
            "split": split,
            "progress": progress,
        }

    if dry_run:
        from clew.models.llm.budget import total

        with reporting(bars=not common.json) as progress:
            said = [evaluation.estimate_answers(**over(folder, progress)) for folder in folders]
        print_estimate(common, total(said))
        return

    def measure_answers(folder: Path, progress: Progress) -> dict[str, Any]:
        return evaluation.evaluate_answers(**over(folder, progress))

    reports = _report(common, folders, measure_answers, evaluation.to_answers_table)
    if html is not None:
        write_whole(html, [evaluation.to_page(reports)])
        note(f"Written: {html}")
    _end(reports)


def _end(reports: list[dict[str, Any]]) -> None:
    """Say why the model did not answer, and which limit ended the answers, where one did."""
    for report in reports:
        for why, count in report["without_model"].items():
            note(f"Note: {count} of {report['questions']} answers without the model: {why}")
    stopped = [report["stopped"] for report in reports if report["stopped"]]
    for reason in stopped:
        note(f"Stopped: {reason}")
    if stopped:
        raise typer.Exit(INCOMPLETE)


def _report(
    common: Common,
    folders: list[Path],
    measure: Measure,
    to_table: Callable[[dict[str, Any]], object],
) -> list[dict[str, Any]]:
    """Measure each data set, and print what came of it."""
    with reporting(bars=not common.json) as progress:
        reports = [measure(folder, progress) for folder in folders]
    if common.json:
        write_json(reports[0] if len(reports) == 1 else reports)
    else:
        console = stdout_console()
        for report in reports:
            console.print(to_table(report))
    return reports


def _rank(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise typer.BadParameter(f"--k takes whole numbers of at least 1, not {text!r}")
    return int(text)


# `clew reindex`, `clew backup`, `clew restore`, `clew copy` and `clew import`.


def reindex(common: Common) -> None:
    """Split, embed and extract again what was made with other settings or another model.

    The new is built beside the store, which goes on as it is until all is ready. Cut short, the
    same command goes on where it was.
    """
    opened = common.open(reads_here=True)
    with opened as engine, reporting(bars=not common.json) as progress:
        report = engine.maintenance.reindex(progress=progress)
    if common.json:
        write_json({"documents": report.changed})
    else:
        write_line(f"{counted(report.changed, 'document')} indexed again")


def backup(
    common: Common, file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file.")]
) -> None:
    """Write the store to a file, while others work on it, and check that file."""
    with common.open() as engine, reporting(bars=not common.json) as progress:
        size = engine.maintenance.backup(file, progress=progress)
    if common.json:
        write_json({"path": file, "bytes": size})
    else:
        write_line(f"{size:,} bytes written and checked")


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
            _confirm(held)
        engine.maintenance.restore(file)
        documents = engine.maintenance.stats()["documents"]
    if common.json:
        write_json({"path": file, "documents": documents})
    else:
        write_line(f"{counted(documents, 'document')} restored")


def _confirm(held: int) -> None:
    """Ask before documents are replaced; where nobody can be asked, refuse."""
    if not sys.stdin.isatty():
        replaced = counted(held, "document")
        note(f"Error: {replaced} would be replaced; add --yes to replace what is stored")
        raise typer.Exit(FAILED)
    if not typer.confirm(f"Replace {counted(held, 'document')}?", err=True):
        raise typer.Exit(INCOMPLETE)


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
    if common.json:
        write_json(report)
    else:
        _print_copy(report)


def _print_copy(report: CopyReport) -> None:
    from clew.cli.render import table

    rows = [(t.name, t.rows, t.digest[:_DIGITS]) for t in report.tables]
    stdout_console().print(table(("table", "rows", "hash"), rows))
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
    if common.json:
        write_json(report)
    else:
        _print_import(report)
    if report.skipped:
        raise typer.Exit(INCOMPLETE)


def _print_import(report: MemoryImportReport) -> None:
    kinds = {"entities": "entity", "observations": "observation", "relations": "relation"}
    new = ", ".join(counted(getattr(report, kind), one, kind) for kind, one in kinds.items())
    known = [
        counted(n, one, kind)
        for kind, one in kinds.items()
        if (n := getattr(report, f"known_{kind}"))
    ]
    write_line(f"{new} new, {len(report.skipped):,} skipped")
    if known:
        write_line(f"{', '.join(known)} there before")
    if report.documents:
        write_line(f"{report.documents:,} documents left to `clew index`")
    for joined in report.joined:
        write_line(f"joined: {joined}")
    if report.skipped:
        from clew.cli.render import table

        rows = [(item.source, item.reason) for item in report.skipped]
        stdout_console().print(table(("skipped", "reason"), rows))
