"""`clew chat`: what a language model does at a shell."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clew.cli.commands.asking import print_estimate
from clew.cli.common import Common
from clew.cli.errors import note
from clew.cli.options import MaxCostOption, MaxTokensSpentOption, comma_separated
from clew.cli.output import write_json, write_line, write_piece
from clew.errors import NotFoundError

if TYPE_CHECKING:
    from clew.plugins.llm.chat import Conversation

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
