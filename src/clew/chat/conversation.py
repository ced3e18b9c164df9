"""One conversation: what the user says, the tools that the model calls, and its answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from clew.chat.remember import remember, remember_request
from clew.errors import InputError, ModelError, ModelUnavailableError, NoLanguageModelError
from clew.models.llm.tokens import most_tokens, most_tokens_of_passages, prompt_text
from clew.ports.language_model import Message, Reply, Request
from clew.stores.backend import check_characters
from clew.tools.documents.querying import as_told
from clew.types.answers import Usage
from clew.untrusted import NOTICE, untrusted_block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.chat.tools import CalledTool, ChatTools
    from clew.engine import Engine
    from clew.models.llm.budget import Estimate
    from clew.models.llm.client import LanguageModelClient
    from clew.ports.conversations import ConversationLog

ROUNDS = 8
"""Replies with calls of tools in one turn, at most, where nothing is said."""
_CHARACTERS_PER_TOKEN = 3
_TOLD = 4000
"""Tokens of what a look-up tells, at most, where the model asks for no other number."""
_OVER = "the limit of rounds is reached: call no more tools, answer from what you know by now"
_INSTRUCTIONS = f"""\
You answer questions about the user's documents. Look things up with the tools before you answer,\
 and say nothing of the documents that no tool has told you. Name the documents that you rest on.\
 Where the tools find nothing, say so. Answer in the language of the user, and briefly. {NOTICE}\
 What the tools answer stands in such blocks.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatTurn:
    """What a turn came to."""

    text: str
    calls: tuple[CalledTool, ...] = ()
    """The tools that were called, in order."""
    model: str = ""
    """Who answered; empty: the documents' own sentences."""
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    """US dollars; None where the price is not known."""
    remembered: tuple[str, ...] = ()
    """The sentences of the user whose facts were kept."""
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The shape that `--json` prints."""
        return {
            "answer": self.text,
            "calls": [
                {"tool": call.name, "arguments": dict(call.arguments), "ok": call.ok}
                for call in self.calls
            ],
            "model": self.model or None,
            "usage": {
                "input_tokens": self.usage.input_tokens,
                "cached_tokens": self.usage.cached_tokens,
                "output_tokens": self.usage.output_tokens,
            },
            "cost": self.cost,
            "remembered": list(self.remembered),
            "notes": list(self.notes),
        }


class Conversation:
    """A conversation that goes on turn by turn; each is kept in the store once it is done."""

    def __init__(
        self,
        engine: Engine,
        model: LanguageModelClient | None,
        tools: ChatTools,
        log: ConversationLog,
        id: str,
        *,
        max_rounds: int = ROUNDS,
        remembers: bool = False,
    ) -> None:
        """Without a model, each turn is answered by the documents' own sentences."""
        self._engine, self._model, self._tools, self._log = engine, model, tools, log
        self.id = id
        self._max_rounds, self._remembers = max_rounds, remembers
        self.messages = list(log.messages(id))
        """All so far, the earliest first."""

    def warm(self) -> None:
        """Have a local model loaded in the background, for this conversation.

        Where that fails, the first turn says so.
        """
        if self._model is not None:
            settings = self._engine.settings
            found = most_tokens_of_passages(settings.search.limit, settings.split.chunk_tokens)
            self._model.warm(most_tokens(self._request([])) + found)

    def say(self, text: str, tell: Callable[[str], None] | None = None) -> ChatTurn:
        """What the model answers to the user; `tell` is called with each piece of it.

        A turn that fails leaves the conversation as it was, and its notes say why. Raises
        `InputError` for a text that is blank, longer than `limits.question_characters`, or no
        Unicode.
        """
        self._check(text)
        tell = tell or _ignore
        if self._model is None:
            return self._by_documents(text, tell)
        before = self._model.budget.spent
        turn = [Message(role="user", text=text)]
        calls: list[CalledTool] = []
        try:
            answer = self._answer(self._model, turn, calls, tell)
        except ModelUnavailableError:
            return self._by_documents(text, tell)
        except ModelError as error:
            answer, notes = "", [str(error)]
            if self._remembers:
                notes.append("of this turn nothing was remembered; say it again")
        else:
            notes = []
            self._keep(turn)
        kept, failed = self._remember(text) if not notes else ((), [])
        spent = self._model.budget.spent
        cost = None if spent.cost is None else spent.cost - (before.cost or 0.0)
        return ChatTurn(
            text=answer,
            calls=tuple(calls),
            model=self._model.name,
            usage=_difference(spent.usage, before.usage),
            cost=cost,
            remembered=kept,
            notes=(*notes, *failed),
        )

    def estimate(self, text: str) -> Estimate:
        """What a turn would take in which the model looks up once; nothing is asked.

        Each further look-up sends all that was said once more. Raises `InputError` as `say` does,
        and `NoLanguageModelError`.
        """
        from clew.models.llm.budget import Rehearsal

        self._check(text)
        if self._model is None:
            raise NoLanguageModelError
        search = Rehearsal(self._model.name, self._model.kept)
        found = self._engine.search(text, model=search, context=False)
        count = self._engine.state.embedder.count_tokens
        told = json.dumps(as_told(found.to_dict(), _TOLD, count), default=str)
        answer = untrusted_block(self._tools.cut(told))
        said = Message(role="user", text=text)
        turn = [said, Message(role="assistant", text=""), Message(role="tool", text=answer)]
        sent = (self._fitting(self._model, self._request(m), len(m)) for m in ([said], turn))
        asked = [*search.asked, *sent]
        asked += [remember_request(text, "")] if self._remembers else []
        return self._engine.asking.estimated(self._model, asked)

    def _check(self, text: str) -> None:
        if not text.strip():
            raise InputError("nothing was said; say what you want to know")
        self._engine.state.check_length("question", text)
        check_characters(text)

    def _answer(
        self,
        model: LanguageModelClient,
        turn: list[Message],
        calls: list[CalledTool],
        tell: Callable[[str], None],
    ) -> str:
        """The answer; messages of the turn and calls of tools are added as they come."""
        for round_ in range(self._max_rounds + 2):
            reply = self._reply(model, turn, tell)
            turn.append(_said(reply))
            if not reply.calls:
                return reply.text
            if round_ < self._max_rounds:
                done = self._tools.run(reply.calls)
                calls += done
                answers = [untrusted_block(one.answer, tool=one.name) for one in done]
            else:
                answers = [_OVER] * len(reply.calls)
            turn += [
                Message(role="tool", text=answer, answers=call.id)
                for call, answer in zip(reply.calls, answers, strict=True)
            ]
        raise ModelError(f"{model.name} calls tools and does not answer")

    def _reply(
        self, model: LanguageModelClient, turn: Sequence[Message], tell: Callable[[str], None]
    ) -> Reply:
        request = self._request(turn)
        reply: str | Reply = ""
        for reply in model.stream(self._fitting(model, request, len(turn))):
            if isinstance(reply, str):
                tell(reply)
        assert isinstance(reply, Reply)
        return reply

    def _request(self, turn: Sequence[Message]) -> Request:
        return Request(
            task="answer",
            instructions=_INSTRUCTIONS,
            messages=(*self.messages, *turn),
            tools=self._tools.definitions(),
            subject=turn[0].text if turn else "",
        )

    def _fitting(self, model: LanguageModelClient, request: Request, kept: int) -> Request:
        """The request without the earliest turns, as far as it must be; the last `kept` stay."""
        settings = model.settings
        room = settings.context_tokens - settings.answer.max_output_tokens
        messages = list(request.messages)
        while len(messages) > kept and len(prompt_text(request)) > room * _CHARACTERS_PER_TOKEN:
            messages.pop(0)
            while len(messages) > kept and messages[0].role != "user":
                messages.pop(0)
            request = replace(request, messages=tuple(messages))
        return request

    def _keep(self, turn: Sequence[Message]) -> None:
        self._log.append(self.id, turn)
        self.messages += turn

    def _remember(self, text: str) -> tuple[tuple[str, ...], list[str]]:
        """The sentences kept, and why none were."""
        if not self._remembers or self._model is None:
            return (), []
        source = f"conversation:{self.id}#{len(self.messages)}"
        try:
            now = self._engine.state.now()
            return remember(self._engine, self._model, text, source, now), []
        except ModelError as error:
            return (), [f"nothing was remembered: {error}"]

    def _by_documents(self, text: str, tell: Callable[[str], None]) -> ChatTurn:
        """The sentences that `ask` finds; its notes say that there is no model, or why."""
        found = self._engine.ask(text, tell=tell)
        return ChatTurn(text=found.text, model=found.model, usage=found.usage, notes=found.notes)


def _said(reply: Reply) -> Message:
    return Message(
        role="assistant", text=reply.text, calls=reply.calls, response_id=reply.response_id
    )


def _difference(after: Usage, before: Usage) -> Usage:
    return Usage(
        input_tokens=after.input_tokens - before.input_tokens,
        cached_tokens=after.cached_tokens - before.cached_tokens,
        output_tokens=after.output_tokens - before.output_tokens,
    )


def _ignore(piece: str) -> None:
    pass
