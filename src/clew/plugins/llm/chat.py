"""One conversation: what the user says, the tools that the model calls, and its answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, TypeAlias

from pydantic import BaseModel, Field

from clew.engine import Engine
from clew.errors import (
    InputError,
    ModelError,
    ModelUnavailableError,
    NoLanguageModelError,
    NotFoundError,
    check_several,
)
from clew.indexing.validation import AgentRelation
from clew.library import Clew
from clew.operations.budget import shortened
from clew.operations.document_queries import as_told
from clew.operations.spec import Caller, Tool, input_schema, load_json
from clew.operations.toolbox import MEMORY_TOOLS, TOOLS, Toolbox, may_call
from clew.plugins.llm.budget import Rehearsal, most_tokens, prompt_text
from clew.plugins.llm.client import LanguageModelClient
from clew.ports import Estimate, LanguageModel, Message, Reply, Request, ToolCall, ToolDefinition
from clew.stores.backend import check_characters
from clew.stores.sqlite.journal import SqliteConversations
from clew.text import find_words
from clew.types import NewEntity, Usage, random_id
from clew.untrusted import NOTICE, untrusted_block

MOST_ROUNDS = 50
"""Replies with calls of tools in one turn, at most."""
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
            "usage": asdict(self.usage),
            "cost": self.cost,
            "remembered": list(self.remembered),
            "notes": list(self.notes),
        }


class Conversation:
    """A conversation that goes on turn by turn; each is kept in the store once it is done."""

    def __init__(
        self,
        engine: Clew,
        *,
        conversation: str | None = None,
        tools: Sequence[str] = (),
        allow: Sequence[str] = (),
        permit: Permit | None = None,
        max_rounds: int = 8,
        max_tokens_spent: int | None = None,
        max_cost: float | None = None,
        remember: bool = False,
    ) -> None:
        """With the language model, which reads the store by Clew's own tools.

        Without a model, the documents' own sentences answer.

        Args:
            engine: Of the store.
            conversation: Id of one that goes on; None: a new one.
            tools: Names of the tools that it may call; none: those of `core` that only read.
            allow: Further tools, which change something.
            permit: Asked before each call of these, with its arguments; None: they are allowed.
            max_rounds: Replies with calls of tools in one turn, 1 to 50.
            max_tokens_spent: Tokens of the whole conversation; None: those of the settings.
            max_cost: US dollars, where prices are known; None: those of the settings.
            remember: Keep the facts that the user states, with their sentences.

        Raises `NotFoundError` for an unknown conversation, `InputError` for an unknown tool, for
        one that changes something without being allowed, and for rounds that cannot be.
        """
        check_several(tools=tools, allow=allow)
        if not 1 <= max_rounds <= MOST_ROUNDS:
            raise InputError(f"max_rounds {max_rounds!r} cannot be; expected 1 to {MOST_ROUNDS}")
        if conversation is not None and not engine.conversations.messages(conversation):
            raise NotFoundError(f"no conversation {conversation!r}; `clew chat --list` names all")
        llm, own = engine.settings.llm, engine.state.language_model
        assert own is None or isinstance(own, LanguageModelClient)
        # Replies hold texts of documents that nobody could name: they are not kept.
        model = None if own is None else own.limited(max_tokens_spent, max_cost, keep=False)
        self._engine, self._model, self._log = engine, model, engine.conversations
        self._max_rounds, self._remembers = max_rounds, remember
        # Four characters a token: an answer takes at most a quarter of the context.
        self._tools = ChatTools(
            engine.tools,
            choose_tools((*TOOLS, *MEMORY_TOOLS), tools, allow),
            permit or (lambda tool, arguments: True),
            llm.context_tokens,
            # Its calls have no ids: models know answers by their order, and share its processors.
            in_turn=llm.provider == "ollama",
            model=model,
        )
        self.id = conversation or random_id(12)
        self.messages = list(self._log.messages(self.id))
        """All so far, the earliest first."""

    def warm(self) -> None:
        """Have a local model loaded in the background, for this conversation.

        Where that fails, the first turn says so.
        """
        if self._model is not None:
            settings, beside = self._engine.settings, most_tokens(self._request([]))
            self._model.warm(settings.search.limit, settings.split.chunk_tokens, beside)

    def say(self, text: str, tell: Callable[[str], None] | None = None) -> ChatTurn:
        """What the model answers to the user; `tell` is called with each piece of it.

        A turn that fails leaves the conversation as it was, and its notes say why. Raises
        `InputError` for a text that is blank, longer than `limits.question_characters`, or no
        Unicode.
        """
        self._check(text)
        tell = tell or (lambda piece: None)
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
            self._log.append(self.id, turn)
            self.messages += turn
        kept, failed = self._remember(text) if not notes else ((), [])
        spent = self._model.budget.spent
        cost = None if spent.cost is None else spent.cost - (before.cost or 0.0)
        return ChatTurn(
            text=answer,
            calls=tuple(calls),
            model=self._model.name,
            usage=spent.usage - before.usage,
            cost=cost,
            remembered=kept,
            notes=(*notes, *failed),
        )

    def estimate(self, text: str) -> Estimate:
        """What a turn would take in which the model looks up once; nothing is asked.

        Each further look-up sends all that was said once more. Raises `InputError` as `say` does,
        and `NoLanguageModelError`.
        """
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
        return self._model.estimate(asked)

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
            request = self._fitting(model, self._request(turn), len(turn))
            reply: str | Reply = ""
            for reply in model.stream(request):
                if isinstance(reply, str):
                    tell(reply)
            assert isinstance(reply, Reply)
            turn.append(Message(role="assistant", text=reply.text, calls=reply.calls))
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


chat = property(lambda engine: partial(Conversation, engine))
conversations = property(lambda engine: SqliteConversations(engine.state.journal))


# What a user says in a conversation, kept as facts: each with its sentence, and dated.
#
# Only what the user says is remembered: neither what documents say nor what the model answers, so
# that nothing in a document can make a memory.


_CONFIDENCE = 0.8
_INSTRUCTIONS_REMEMBER = f"""\
You take the facts that a user states in a message of a conversation. {NOTICE}
Answer with a JSON object: {{"facts": [{{"sentence": "…", "source": "…",\
 "relation_type": "works_at", "target": "…"}}]}}
A fact has the sentence of the message that states it, copied letter for letter, and the two names\
 that it ties, as the sentence has them. The relation type is a short verb phrase in snake_case.\
 Questions, wishes and commands state no fact. Where there is none, answer {{"facts": []}}.
"""


class StatedFact(BaseModel):
    """A fact as the model took it from a message."""

    sentence: str
    source: str
    relation_type: str
    target: str


class StatedFacts(BaseModel):
    """All facts of a message."""

    facts: list[StatedFact] = Field(max_length=10)


def remember(
    engine: Engine, model: LanguageModel, text: str, source: str, now: datetime
) -> tuple[str, ...]:
    """Keep the facts that a message states; the sentences that were kept.

    The message becomes a document of that source and date, unless the store's own check of facts
    refuses all of them. Raises `ModelError`.
    """
    value = model.reply(remember_request(text, source)).value
    assert isinstance(value, StatedFacts)
    # The message has the sentence, and the sentence both names.
    stated = [
        fact
        for fact in value.facts
        if find_words(fact.sentence, text) is not None
        and find_words(fact.source, fact.sentence) is not None
        and find_words(fact.target, fact.sentence) is not None
    ]
    if not stated:
        return ()
    dated = {"date": now.isoformat(timespec="seconds"), "kind": "conversation"}
    document = engine.add(text, source=source, title=f"Said on {now:%Y-%m-%d}", metadata=dated)
    passages = [chunk.public_id for chunk in engine.store.document_chunks(document)]
    names = dict.fromkeys(name for fact in stated for name in (fact.source, fact.target))
    report = engine.entities.agent_extractions.record(
        passages,
        [NewEntity(name=name, entity_type="name", content="") for name in names],
        [
            AgentRelation(
                head=fact.source,
                tail=fact.target,
                relation_type=fact.relation_type,
                confidence=_CONFIDENCE,
            )
            for fact in stated
        ],
    )
    refused = {one.item for one in report.rejected}
    kept = [f for f in stated if f"{f.source} -{f.relation_type}-> {f.target}" not in refused]
    if not kept:
        engine.documents.delete([document])
    return tuple(dict.fromkeys(" ".join(fact.sentence.split()) for fact in kept))


def remember_request(text: str, source: str) -> Request:
    """A message, to be read for the facts that it states."""
    return Request(
        task="extract",
        instructions=_INSTRUCTIONS_REMEMBER,
        messages=(Message(role="user", text=untrusted_block(text)),),
        schema=StatedFacts,
        subject=source,
    )


# The tools of a conversation: which may be called, what a model meant, and what comes back.


Permit: TypeAlias = Callable[[str, Mapping[str, Any]], bool]
"""Whether a tool that changes something may be called with these arguments."""
MOST_AT_ONCE = 8
"""Calls of one reply that are run."""
_AT_A_TIME = 4
_ALIKE = 85
"""How alike a name must be to one of the tools for it to be meant, 0 to 100."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CalledTool:
    """A call that a model asked for, and what came of it."""

    name: str
    """The tool that was called; as the model wrote it where there is none such."""
    arguments: Mapping[str, Any]
    ok: bool
    answer: str
    """What the model was told: the result as JSON, or what to do instead."""


class ChatTools:
    """The tools that a conversation offers, and calling them."""

    def __init__(
        self,
        toolbox: Toolbox,
        tools: Sequence[Tool],
        permit: Permit,
        most_characters: int,
        *,
        in_turn: bool = False,
        model: LanguageModelClient | None = None,
    ) -> None:
        """`in_turn`: calls of one reply are never run at the same time.

        `model`: what tools ask of a model counts for it.
        """
        self._toolbox, self._permit, self._most = toolbox, permit, most_characters
        self._in_turn = in_turn
        self._tools = {tool.name: tool for tool in tools}
        self._caller = Caller(name="chat", tools=frozenset(self._tools), model=model)

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """As a model is told of them."""
        return tuple(
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters=input_schema(tool.parameters),
            )
            for tool in self._tools.values()
        )

    def run(self, calls: Sequence[ToolCall]) -> list[CalledTool]:
        """What came of each call, in order; those that only read may run at the same time."""
        read = [self._read(call, place) for place, call in enumerate(calls)]
        waiting = [one for one in read if not one.answer]
        reading = all(self._tools[one.name].read_only for one in waiting)
        if reading and len(waiting) > 1 and not self._in_turn:
            with ThreadPoolExecutor(_AT_A_TIME) as pool:
                done = iter(list(pool.map(self._called, waiting)))
        else:
            done = map(self._called, waiting)
        return [one if one.answer else next(done) for one in read]

    def _read(self, call: ToolCall, place: int) -> CalledTool:
        """The call as it is meant; with an answer where it is not run."""
        name = self._meant(call.name)
        if name is None:
            known = ", ".join(self._tools)
            return _refused(call.name, {}, f"there is no tool {call.name!r}; use one of {known}")
        if place >= MOST_AT_ONCE:
            return _refused(name, {}, f"at most {MOST_AT_ONCE} calls at once; call it again")
        try:
            arguments = load_json(call.arguments or "{}")
            # JSON within a string of JSON is read, too.
            arguments = load_json(arguments) if isinstance(arguments, str) else arguments
            wrong = "no JSON object but " + json.dumps(arguments)[:80]
        except ValueError as error:
            arguments, wrong = None, f"no JSON ({error})"
        if not isinstance(arguments, dict):
            known = ", ".join(parameter.name for parameter in self._tools[name].parameters)
            answer = f"the arguments are {wrong}; the parameters of {name} are {known}"
            return _refused(name, {}, answer)
        if not self._tools[name].read_only and not self._permit(name, arguments):
            return _refused(name, arguments, f"the user does not allow {name}; go on without it")
        return CalledTool(name=name, arguments=arguments, ok=True, answer="")

    def _meant(self, name: str) -> str | None:
        """The tool of that name, or of one so alike that it is meant."""
        from rapidfuzz import fuzz, process

        plain = name.rpartition(".")[2].strip().casefold().replace("-", "_").replace(" ", "_")
        if plain in self._tools:
            return plain
        near = process.extractOne(plain, list(self._tools), scorer=fuzz.ratio, score_cutoff=_ALIKE)
        return str(near[0]) if near else None

    def _called(self, call: CalledTool) -> CalledTool:
        outcome = self._toolbox.call(call.name, call.arguments, caller=self._caller)
        return CalledTool(
            name=call.name,
            arguments=call.arguments,
            ok=not outcome.is_error,
            answer=self.cut(outcome.text),
        )

    def cut(self, answer: str) -> str:
        """As much of an answer as the model is shown."""
        return shortened(answer, self._most)


def choose_tools(tools: Sequence[Tool], names: Sequence[str], allowed: Sequence[str]) -> list[Tool]:
    """Those of these names, else those of the core profile that only read; and those allowed.

    Raises `InputError` for a name that no tool has, and for one that changes something and is not
    among those allowed.
    """
    known = {tool.name: tool for tool in tools if may_call(Caller(), tool)}
    for name in (*names, *allowed):
        if name not in known:
            raise InputError(f"there is no tool {name!r}; `clew tools --list` names all")
    for name in names:
        if not known[name].read_only and name not in allowed:
            raise InputError(f"{name} changes something; allow it by name, too: --allow {name}")
    chosen = names or [t.name for t in tools if t.read_only and "core" in t.profiles]
    return [known[name] for name in dict.fromkeys((*chosen, *allowed))]


def _refused(name: str, arguments: Mapping[str, Any], answer: str) -> CalledTool:
    return CalledTool(name=name, arguments=arguments, ok=False, answer=answer)
