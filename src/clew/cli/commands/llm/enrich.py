"""`clew enrich`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from clew.cli.common import Common
from clew.cli.errors import INCOMPLETE, note
from clew.cli.output import stdout_console, write_json, write_line
from clew.cli.progress import reporting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clew.models.llm.budget import Estimate
    from clew.ports.enrichment import Enrichment
    from clew.types import EnrichmentReport


class Kind(StrEnum):
    """What can be taken back."""

    context = "context"
    extract = "extract"
    documents = "documents"
    entities = "entities"
    topics = "topics"
    reports = "reports"
    links = "links"

    @property
    def enriched(self) -> Enrichment:
        """The same, as the library names it."""
        return self.value


DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Say what it would take; ask nothing.")
]
RetryOption = Annotated[
    bool, typer.Option("--retry", help="Ask again where the model failed before.")
]
GleaningOption = Annotated[
    bool | None,
    typer.Option(
        "--gleaning/--no-gleaning",
        help="With --extract: ask a second time for what was missed; else llm.gleaning.",
        show_default=False,
    ),
]
SpentOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=0,
        help="Tokens to spend, at most; else llm.max_tokens_spent.",
        show_default=False,
    ),
]
CostOption = Annotated[
    float | None,
    typer.Option(
        metavar="USD", min=0, help="Money to spend; else llm.max_cost.", show_default=False
    ),
]


def enrich(
    common: Common,
    extract: Annotated[
        bool, typer.Option("--extract", help="Names and facts, each with words of its passage.")
    ] = False,
    context: Annotated[
        bool, typer.Option("--context", help="Words that situate each passage in its document.")
    ] = False,
    documents: Annotated[
        bool, typer.Option("--documents", help="Summaries of documents, each statement quoted.")
    ] = False,
    entities: Annotated[
        bool, typer.Option("--entities", help="Descriptions of entities, each statement quoted.")
    ] = False,
    topics: Annotated[
        bool, typer.Option("--topics", help="Names of topics and themes, and what is said of them.")
    ] = False,
    reports: Annotated[
        bool, typer.Option("--reports", help="Reports on communities, each statement quoted.")
    ] = False,
    links: Annotated[
        bool, typer.Option("--links", help="Whether entities that may be one are one, and why.")
    ] = False,
    dry_run: DryRunOption = False,
    retry: RetryOption = False,
    gleaning: GleaningOption = None,
    undo: Annotated[
        Kind | None,
        typer.Option("--undo", help="Take back what the model added.", show_default=False),
    ] = None,
    max_tokens_spent: SpentOption = None,
    max_cost: CostOption = None,
) -> None:
    """Let the language model add to what is stored; without one, all stays as it is.

    What is done is kept: cut short, it goes on where it was.
    """
    wanted: dict[Enrichment, bool] = {
        "context": context,
        "extract": extract,
        "documents": documents,
        "entities": entities,
        "topics": topics,
        "reports": reports,
        "links": links,
    }
    chosen = [kind for kind, is_wanted in wanted.items() if is_wanted]
    if undo is not None and (chosen or dry_run or retry):
        raise typer.BadParameter("--undo stands alone: clew enrich --undo extract")
    if undo is None and not chosen:
        options = ", ".join(f"--{kind}" for kind in wanted)
        raise typer.BadParameter(f"say what to add: {options}")
    if gleaning is not None and not extract:
        raise typer.BadParameter("--gleaning is a second round of --extract")
    with common.open() as engine, reporting(bars=not common.json) as progress:
        if undo is not None:
            _print_undone(common, undo, engine.enriching.undo(undo.enriched, progress=progress))
            return
        if dry_run:
            found = engine.enriching.estimate(*chosen, retry=retry, gleaning=gleaning)
            _print_estimates(common, found)
            return
        done = engine.enrich(
            *chosen,
            retry=retry,
            gleaning=gleaning,
            max_tokens=max_tokens_spent,
            max_cost=max_cost,
            progress=progress,
        )
    if common.json:
        write_json({"reports": done})
    else:
        for report in done:
            _print_report(report)
    if any(report.failed or report.stopped for report in done):
        raise typer.Exit(INCOMPLETE)


def extract(
    common: Common,
    dry_run: DryRunOption = False,
    retry: RetryOption = False,
    gleaning: GleaningOption = None,
    max_tokens_spent: SpentOption = None,
    max_cost: CostOption = None,
) -> None:
    """Let the language model list names and facts; the same as `clew enrich --extract`."""
    enrich(
        common,
        extract=True,
        dry_run=dry_run,
        retry=retry,
        gleaning=gleaning,
        max_tokens_spent=max_tokens_spent,
        max_cost=max_cost,
    )


def _print_undone(common: Common, kind: Kind, passages: int) -> None:
    if common.json:
        write_json({"undone": kind.value, "count": passages})
    else:
        write_line(f"{kind.value}: taken back in {passages:,} {_of(kind.value)}")


def _print_estimates(common: Common, found: Mapping[Enrichment, Estimate]) -> None:
    if common.json:
        write_json(found)
        return
    for kind, one in found.items():
        cost = "price unknown" if one.cost is None else f"about ${one.cost:.4f}"
        write_line(
            f"{kind}: {one.documents:,} documents, {one.calls:,} calls ({one.cached:,} more are"
            f" kept, or the same), about {one.input_tokens:,} tokens to read and"
            f" {one.output_tokens:,} to write, {cost}"
        )
    note("Nothing was asked.")


def _of(kind: str) -> str:
    """What a kind of enrichment is of."""
    return {
        "documents": "documents and parts of them",
        "entities": "entities",
        "topics": "topics and themes",
        "reports": "communities",
        "links": "pairs of entities",
    }.get(kind, "passages")


def _print_report(report: EnrichmentReport) -> None:
    dropped = sum(report.dropped.values())
    found = f", {report.facts:,} facts ({report.new_relations:,} new), {dropped:,} dropped"
    found = found if report.kind == "extract" else ""
    of = _of(report.kind)
    write_line(f"{report.kind}: {report.done:,} {of}{found}, {len(report.failed):,} failed")
    for reason, count in sorted(report.dropped.items(), key=lambda item: -item[1]):
        write_line(f"  {count:,} dropped: {reason}")
    if report.failed:
        from clew.cli.tables import table

        rows = [(item.source, item.reason) for item in report.failed]
        stdout_console().print(table(("failed", "reason"), rows))
    usage = report.usage
    cost = "" if report.cost is None else f", ${report.cost:.4f}"
    note(
        f"{report.requests:,} calls, {report.cached:,} from kept replies;"
        f" {usage.input_tokens:,} tokens read, {usage.output_tokens:,} written{cost},"
        f" {report.seconds:.1f} s"
    )
    if report.stopped:
        note(f"Stopped: {report.stopped}")
    if report.next_step:
        note(f"Next: {report.next_step}")
