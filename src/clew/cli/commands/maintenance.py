"""`clew check`, `clew audit` and `clew eval`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clew.cli.commands.llm.ask import Mode, print_estimate
from clew.cli.common import Common
from clew.cli.errors import INCOMPLETE, note
from clew.cli.options import MaxCostOption, MaxTokensSpentOption, comma_separated
from clew.cli.output import stdout_console, write_json, write_line, write_whole
from clew.cli.progress import reporting, steps
from clew.errors import StoreCorruptError
from clew.private_files import is_private
from clew.types import CheckReport, Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.engine.state import Progress

    Measure = Callable[[Path, Progress], dict[str, Any]]


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
        from clew.cli.tables import table

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
        from clew.cli.tables import table

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
