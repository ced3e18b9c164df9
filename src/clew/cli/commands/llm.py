"""`clew ask`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clew.cli.errors import INCOMPLETE, note
from clew.cli.options import (
    AsOfOption,
    Common,
    MaxCostOption,
    MaxHopsOption,
    MaxTokensSpentOption,
    MinConfidenceOption,
    ModelFilterOption,
    NamespacesOption,
    QuestionArgument,
    SinceOption,
    TemporalOption,
    UntilOption,
    WhereOption,
    comma_separated,
    read_namespaces,
    read_question,
)
from clew.cli.output import shown_source, stdout_console, stdout_page, write_json, write_line
from clew.cli.progress import reporting
from clew.errors import NoLanguageModelError, NotFoundError

if TYPE_CHECKING:
    from clew.chat import ChatTurn, Conversation
    from clew.library import Clew
    from clew.models.llm.budget import Estimate
    from clew.ports.graph import Enrichment
    from clew.types import EnrichmentReport
    from clew.types.results import Answer, AnswerMode, AnswerSource


class Mode(StrEnum):
    """How passages are gathered and read."""

    one_shot = "one-shot"
    stepwise = "stepwise"
    overview = "global"

    @property
    def name_in_library(self) -> AnswerMode:
        """The same mode as `store.ask` names it."""
        names: dict[Mode, AnswerMode] = {Mode.stepwise: "stepwise", Mode.overview: "global"}
        return names.get(self, "one_shot")


def ask(
    common: Common,
    question: QuestionArgument,
    mode: Annotated[
        Mode,
        typer.Option(
            metavar="NAME",
            help="one-shot: one search; stepwise: the question's parts and what is missing are"
            " searched for, too; global: over all community reports.",
        ),
    ] = Mode.one_shot,
    steps: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, max=10, help="stepwise: searches, at most; 4.", show_default=False
        ),
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="How passages are found, as in clew search; else the setting search.strategy.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Passages to answer from, at most.", show_default=False
        ),
    ] = None,
    where: WhereOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    as_of: AsOfOption = None,
    temporal: TemporalOption = None,
    max_hops: MaxHopsOption = None,
    min_confidence: MinConfidenceOption = None,
    model_filter: ModelFilterOption = None,
    namespaces: NamespacesOption = None,
    max_tokens_spent: MaxTokensSpentOption = None,
    max_cost: MaxCostOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would take at most; ask no model.")
    ] = False,
) -> None:
    """Answer a question, with the words of the documents that each statement rests on.

    Without a language model, or where it fails, the answer is quoted from the documents.
    """
    names = read_namespaces(namespaces)
    with (replace(common, namespace=names[0]) if names else common).open() as engine:
        if strategy != "keyword":
            engine.state.warm()
        options: dict[str, Any] = {
            "mode": mode.name_in_library,
            "steps": steps,
            "strategy": strategy,
            "limit": limit,
            "where": where or (),
            "since": since,
            "until": until,
            "as_of": as_of,
            "temporal": temporal,
            "max_hops": max_hops,
            "min_confidence": min_confidence,
            "model_filter": model_filter,
            "namespaces": names,
        }
        if dry_run:
            print_estimate(common, engine.asking.estimate(read_question(question), **options))
            return
        engine.asking.warm(limit)
        found = engine.ask(
            read_question(question),
            tell=None if common.json else _write,
            max_tokens_spent=max_tokens_spent,
            max_cost=max_cost,
            **options,
        )
    if common.json:
        write_json(found.to_dict())
    else:
        _print(found)
    if min_confidence is not None and not found.answered:
        raise typer.Exit(1)


def print_estimate(common: Common, found: Estimate) -> None:
    """What work would take; nothing was asked."""
    if common.json:
        write_json(found)
        return
    cost = "price unknown" if found.cost is None else f"about ${found.cost:.4f}"
    of = f"{found.documents:,} documents, " if found.documents else ""
    write_line(
        f"{of}{found.calls:,} calls ({found.cached:,} known or not"
        f" needed), about {found.input_tokens:,} tokens to read and {found.output_tokens:,} to"
        f" write, {cost}"
    )
    note("Nothing was asked.")


def _print(found: Answer) -> None:
    """What is known beside the answer itself, which was told."""
    write_line("")
    _print_sources(found)
    for question in found.questions[1:]:
        note(f"Also searched for: {question}")
    for remark in found.notes:
        note(f"Note: {remark}")
    note(_spent(found))


def _write(piece: str) -> None:
    sys.stdout.write(piece)
    sys.stdout.flush()


def _print_sources(found: Answer) -> None:
    """The sources with what was quoted of them, and the path to each."""
    quotations = [q for statement in found.statements for q in statement.quotations]
    for source in found.sources:
        write_line(f"\n{_heading(source)}")
        if found.model:
            texts = (q.text for q in quotations if q.source == source.number)
            for text in dict.fromkeys(texts):
                write_line(f"    “{' '.join(text.split())}”")
        elif source.text:
            write_line(f"    {' '.join(source.text.split())}")
        if source.path:
            from clew.cli.render import print_thread

            print_thread(stdout_page(), source.path, f"[{source.number}] {source.title}")


def _heading(source: AnswerSource) -> str:
    if not source.id:  # stated by hand
        return f"[{source.number}] {source.title}"
    place = (
        f"characters {source.start}–{source.end}" if source.page is None else f"page {source.page}"
    )
    parts = [f"[{source.number}] {' '.join(source.title.split())}", place]
    parts += [f"namespace {source.namespace}"] if source.namespace else []
    parts += [shown_source(source.source)] if source.title != source.source else []
    return ", ".join(parts)


def _spent(found: Answer) -> str:
    """Who answered, and what it took."""
    seconds = sum(found.timings_ms.values()) / 1000
    if not found.model and not found.calls:
        return f"Without a language model; {seconds:.1f} s."
    usage = found.usage
    requests = (
        f"{found.calls} request{'s' * (found.calls != 1)}"
        + f", {found.cached_calls} known" * bool(found.cached_calls)
    )
    parts = [f"{usage.input_tokens:,} tokens read, {usage.output_tokens:,} written"]
    parts += [] if found.cost is None else [f"${found.cost:.4f}"]
    who = found.model or "Sentences of the documents"
    return f"{who}: {requests}, {', '.join(parts)}, {seconds:.1f} s."


# `clew chat`.


_SHOWN = 120
"""Characters of a call's arguments that are shown."""


def chat(
    common: Common,
    message: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MESSAGE", help="Said alone, in one turn; else each line read is a turn."
        ),
    ] = None,
    conversation: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Go on with an earlier one.", show_default=False),
    ] = None,
    tools: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Tools that the model may call, separated by commas; else those of core that only"
            " read.",
            show_default=False,
        ),
    ] = None,
    allow: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Tools that change something, which it may call, too; at a terminal each call is"
            " asked for.",
            show_default=False,
        ),
    ] = None,
    remember: Annotated[
        bool, typer.Option("--remember", help="Keep the facts that you state, with your sentences.")
    ] = False,
    max_rounds: Annotated[
        int, typer.Option(metavar="N", min=1, max=50, help="Replies with calls in a turn, at most.")
    ] = 8,
    max_tokens_spent: MaxTokensSpentOption = None,
    max_cost: MaxCostOption = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Say what MESSAGE would take with one look-up; ask no model."
        ),
    ] = False,
    list_: Annotated[
        bool, typer.Option("--list", help="List the conversations that are kept.")
    ] = False,
    forget: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Forget a conversation.", show_default=False),
    ] = None,
) -> None:
    """Talk with a language model that reads the store by Clew's own tools."""
    if dry_run and not message:
        raise typer.BadParameter("--dry-run needs a message: clew chat --dry-run MESSAGE")
    with common.open() as store:
        if list_ or forget:
            _keep(common, store, forget)
            return
        store.state.warm()
        talk = store.chat(
            conversation=conversation,
            tools=comma_separated(tools or ""),
            allow=comma_separated(allow or ""),
            permit=_permit if sys.stdin.isatty() else None,
            max_rounds=max_rounds,
            max_tokens_spent=max_tokens_spent,
            max_cost=max_cost,
            remember=remember,
        )
        if dry_run:
            print_estimate(common, talk.estimate(" ".join(message or ())))
            return
        talk.warm()
        for text in [" ".join(message)] if message else _lines():
            _say(common, talk, text)
        if talk.messages and not common.json:
            note(f"Go on with: clew chat --conversation {talk.id}")


def _keep(common: Common, store: Clew, forget: str | None) -> None:
    """List conversations, or forget one."""
    if forget is not None:
        if not store.conversations.forget(forget):
            raise NotFoundError(f"no conversation {forget!r}; `clew chat --list` names all")
        note(f"Conversation {forget} is forgotten.")
        return
    found = store.conversations.conversations()
    if common.json:
        write_json(found)
    elif found:
        from clew.cli.render import table

        rows = [(one.id, one.began_at, one.messages, one.title) for one in found]
        stdout_console().print(table(("id", "began", "messages", "title"), rows))


def _lines() -> Iterator[str]:
    """What is said, a line a turn, until the end of input."""
    while True:
        if sys.stdin.isatty():
            sys.stdout.write("> ")
            sys.stdout.flush()
        line = sys.stdin.readline()
        if not line:
            return
        if line.strip():
            yield line.strip()


def _say(common: Common, talk: Conversation, text: str) -> None:
    turn = talk.say(text, None if common.json else _write)
    if common.json:
        write_json({"conversation": talk.id, **turn.to_dict()})
        return
    write_line("")
    for call in turn.calls:
        shown = json.dumps(dict(call.arguments), ensure_ascii=False)[:_SHOWN]
        note(f"Called {call.name} {shown}{'' if call.ok else ': ' + call.answer[:_SHOWN]}")
    for sentence in turn.remembered:
        note(f"Remembered: {sentence}")
    for remark in turn.notes:
        note(f"Note: {remark}")
    note(_spent_chat(turn))


def _spent_chat(turn: ChatTurn) -> str:
    if not turn.model:
        return "Without a language model."
    cost = "" if turn.cost is None else f", ${turn.cost:.4f}"
    read, written = turn.usage.input_tokens, turn.usage.output_tokens
    return f"{turn.model}: {read:,} tokens read, {written:,} written{cost}."


def _permit(tool: str, arguments: Mapping[str, Any]) -> bool:
    shown = json.dumps(dict(arguments), ensure_ascii=False)[:500]
    return typer.confirm(f"Let the model call {tool} {shown}?", err=True)


# `clew llm check`.


def check(common: Common) -> None:
    """Try the language model on a small known text for each task; no store is needed.

    Exit status 1 where it fails at one. A small model may be wrong and still be of use.
    """
    import clew
    from clew.models.llm.check import trials
    from clew.models.llm.client import LanguageModelClient, make_provider

    settings = clew.load_settings(store=common.store, namespace=common.namespace).llm
    if not settings.provider:
        raise NoLanguageModelError
    with closing(make_provider(settings)) as provider:
        found = list(trials(LanguageModelClient(provider, settings)))
    if common.json:
        write_json({"context_tokens": settings.context_tokens, "trials": found})
    else:
        from clew.cli.render import table

        columns = ("task", "model", "", "seconds", "tokens/s", "found")
        rows = [
            (t.what, t.model, "ok" if t.ok else "FAILED", t.seconds, t.tokens_per_second, t.found)
            for t in found
        ]
        stdout_console().print(table(columns, rows))
    if not all(trial.ok for trial in found):
        raise typer.Exit(INCOMPLETE)


# `clew enrich`.


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
        from clew.cli.render import table

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
