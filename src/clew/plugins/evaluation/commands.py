"""`clew eval`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from clew.cli.commands.asking import print_estimate
from clew.cli.common import INCOMPLETE, Common, note, reporting
from clew.cli.options import MaxCostOption, MaxTokensSpentOption, comma_separated
from clew.cli.output import stdout_console, write_json, write_whole
from clew.plugins.evaluation import run
from clew.plugins.evaluation.answers import (
    estimate_answers,
    evaluate_answers,
    to_answers_table,
    to_page,
)
from clew.ports import total
from clew.settings import load_settings


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
        str, typer.Option(metavar="NAME", help="--answers: as clew ask has it.")
    ] = "one_shot",
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
    strategies, ks = comma_separated(strategy), comma_separated(k)
    given = {"max_tokens_spent": max_tokens_spent, "max_cost": max_cost}
    limits = {name: limit for name, limit in given.items() if limit is not None}
    wrong_ks = [rank for rank in ks if not rank.isdecimal() or int(rank) < 1]
    for is_wrong, why in (
        (
            common.store is not None and len(folders) > 1,
            "--store takes one data set; give one DIR, or leave --store out",
        ),
        (
            not answers and any((judge, html, questions, dry_run, limits)),
            "--judge, --html, --questions, --dry-run, --max-tokens-spent and --max-cost go with"
            " --answers",
        ),
        (answers and rag_types, "--rag-types compares passages; leave --answers out"),
        (wrong_ks, f"--k takes whole numbers of at least 1, not {', '.join(wrong_ks)!r}"),
    ):
        if is_wrong:
            raise typer.BadParameter(why)
    settings = load_settings(namespace=common.namespace)
    llm = settings.llm.model_copy(update=limits)
    where: dict[str, Any] = {
        "store": common.store,
        "settings": settings.model_copy(update={"llm": llm}),
        "split": split,
    }
    measure: Callable[..., Any]
    if answers:
        asked = {"strategy": strategies[-1], "mode": mode, "judged": judge}
        where |= {**asked, "questions": questions}
        measure = estimate_answers if dry_run else evaluate_answers
    else:
        where |= {"strategies": strategies, "ks": list(map(int, ks)), "rag_types": rag_types}
        measure = run.evaluate
    with reporting(bars=not common.json) as progress:
        reports: list[Any] = [measure(one, progress=progress, **where) for one in folders]
    if dry_run:
        print_estimate(common, total(reports))
        return
    _print_reports(common, reports, html, drawn=to_answers_table if answers else run.to_table)


def _print_reports(
    common: Common, reports: list[Any], html: Path | None, *, drawn: Callable[..., Any]
) -> None:
    """Print what was measured; why the model did not answer, and which limit ended it."""
    if common.json:
        write_json(reports[0] if len(reports) == 1 else reports)
    else:
        for report in reports:
            stdout_console().print(drawn(report))
    if html is not None:
        write_whole(html, [to_page(reports)])
        note(f"Written: {html}")
    for report in reports:
        for why, count in report.get("without_model", {}).items():
            note(f"Note: {count} of {report['questions']} answers without the model: {why}")
    stopped = [report["stopped"] for report in reports if report.get("stopped")]
    for reason in stopped:
        note(f"Stopped: {reason}")
    if stopped:
        raise typer.Exit(INCOMPLETE)
