"""`clew chat` and `clew enrich`: talking with a language model, and what it adds to a store."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from clew.cli.commands.asking import estimated, print_estimate
from clew.cli.common import INCOMPLETE, Common, note, reporting
from clew.cli.options import MaxCostOption, MaxTokensSpentOption, comma_separated
from clew.cli.output import print_table, write_json, write_line, write_piece
from clew.errors import NotFoundError

if TYPE_CHECKING:
    from clew.plugins.llm.chat import Conversation
    from clew.types import EnrichmentReport

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
        if forget is not None:
            if not store.conversations.forget(forget):
                raise NotFoundError(f"no conversation {forget!r}; `clew chat --list` names all")
            note(f"Conversation {forget} is forgotten.")
            return
        if list_:
            kept = store.conversations.conversations()
            rows = [(one.id, one.began_at, one.messages, one.title) for one in kept]
            common.table(kept, ("id", "began", "messages", "title"), rows)
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


def _lines() -> Iterator[str]:
    """What is said, a line a turn, until the end of input."""
    while True:
        if sys.stdin.isatty():
            write_piece("> ")
        line = sys.stdin.readline()
        if not line:
            return
        if line.strip():
            yield line.strip()


def _say(common: Common, talk: Conversation, text: str) -> None:
    turn = talk.say(text, None if common.json else write_piece)
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
    cost = "" if turn.cost is None else f", ${turn.cost:.4f}"
    spent = f"{turn.usage.input_tokens:,} tokens read, {turn.usage.output_tokens:,} written{cost}."
    note(f"{turn.model}: {spent}" if turn.model else "Without a language model.")


def _permit(tool: str, arguments: Mapping[str, Any]) -> bool:
    shown = json.dumps(dict(arguments), ensure_ascii=False)[:500]
    return typer.confirm(f"Let the model call {tool} {shown}?", err=True)


Kind: TypeAlias = Literal[
    "context", "extract", "documents", "entities", "topics", "reports", "links"
]
"""What a model can add."""


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
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would take; ask nothing.")
    ] = False,
    retry: Annotated[
        bool, typer.Option("--retry", help="Ask again where the model failed before.")
    ] = False,
    gleaning: Annotated[
        bool | None,
        typer.Option(
            "--gleaning/--no-gleaning",
            help="With --extract: ask a second time for what was missed; else llm.gleaning.",
            show_default=False,
        ),
    ] = None,
    undo: Annotated[
        Kind | None,
        typer.Option(metavar="KIND", help="Take back what the model added.", show_default=False),
    ] = None,
    max_tokens_spent: MaxTokensSpentOption = None,
    max_cost: MaxCostOption = None,
) -> None:
    """Let the language model add to what is stored; without one, all stays as it is.

    What is done is kept: cut short, it goes on where it was.
    """
    wanted: dict[Kind, bool] = {
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
            count = engine.enriching.undo(undo, progress=progress)
            line = f"{undo}: taken back in {count:,} {_ENRICHED[undo]}"
            common.tell({"undone": undo, "count": count}, line)
            return
        if dry_run:
            found = engine.enriching.estimate(*chosen, retry=retry, gleaning=gleaning)
            lines = [f"{kind}: {estimated(one)}" for kind, one in found.items()]
            common.tell(found, "\n".join(lines))
            if not common.json:
                note("Nothing was asked.")
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


_ENRICHED: Mapping[str, str] = {
    "context": "passages",
    "extract": "passages",
    "documents": "documents and parts of them",
    "entities": "entities",
    "topics": "topics and themes",
    "reports": "communities",
    "links": "pairs of entities",
}
"""What each kind of enrichment is of."""


def _print_report(report: EnrichmentReport) -> None:
    dropped = sum(report.dropped.values())
    of, found = _ENRICHED[report.kind], ""
    if report.kind == "extract":
        found = f", {report.facts:,} facts ({report.new_relations:,} new), {dropped:,} dropped"
    write_line(f"{report.kind}: {report.done:,} {of}{found}, {len(report.failed):,} failed")
    for reason, count in sorted(report.dropped.items(), key=lambda item: -item[1]):
        write_line(f"  {count:,} dropped: {reason}")
    print_table(("failed", "reason"), [(item.source, item.reason) for item in report.failed])
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
