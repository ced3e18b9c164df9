"""The engine's language model: a provider whose replies are kept, counted, checked and repaired."""

from __future__ import annotations

import copy
import hashlib
import json
import logging
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from typing import TypeAlias, TypeVar, get_args
from weakref import WeakValueDictionary

from pydantic import BaseModel, ValidationError

from clew.errors import (
    ModelError,
    ModelUnavailableError,
    ReplyError,
    StoreError,
    redacted,
    redacted_pieces,
)
from clew.plugins.llm.answering import (
    REPLY_TOKENS,
    answer,
    answer_request,
    report_requests,
    search_in_steps,
    step_requests,
)
from clew.plugins.llm.budget import (
    PER_CHARACTER,
    Budget,
    Rehearsal,
    estimate,
    fewest_tokens,
    most_tokens_of_passages,
    prompt_text,
)
from clew.ports import (
    Estimate,
    LanguageModel,
    LoggedReply,
    Message,
    Parameters,
    Reply,
    Request,
    Task,
    ToolCall,
    ToolDefinition,
    Trial,
    ask,
    total,
)
from clew.settings import LlmSettings
from clew.stores.state import Replies
from clew.text import encodable, one_line
from clew.types import Answer, AnswerMode, SearchResult, Usage
from clew.untrusted import NOTICE, escaped, untrusted_block

T = TypeVar("T")
Ask: TypeAlias = Callable[[Request], Iterator["str | Reply"]]

logger = logging.getLogger("clew")

AWAY_SECONDS = 30.0
"""How long a model that could not be reached is not asked again."""

_OF_A_QUESTION: tuple[Task, ...] = ("route", "judge", "answer")
"""Tasks that one question may take."""


class LanguageModelClient:
    """Implements `ports.ModelClient` over a provider; threads may share one.

    A reply that is kept is not asked for again. Each is parsed by its request's schema; one that
    fails is asked for once more, with what is wrong, and then recorded as failed.
    """

    def __init__(
        self,
        provider: LanguageModel,
        settings: LlmSettings,
        log: Replies | None = None,
    ) -> None:
        """Clients of one provider share its `slots`, which bound the requests at a time."""
        self.provider = provider
        self.settings = settings
        self.log = log if settings.cache else None
        self._past = log
        own = threading.BoundedSemaphore(settings.concurrency)
        self.slots: threading.BoundedSemaphore = getattr(provider, "slots", own)
        self.budget = Budget(settings.max_tokens_spent, settings.max_cost)
        """Of this client."""
        self._guard = threading.Lock()
        self._under_way: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
        """Requests that are being asked: who wants the same waits, and finds the reply kept."""
        self._away: list[tuple[float, ModelUnavailableError]] = []
        """Until when it is not asked again, and why; shared with the clients of `limited`."""

    @property
    def name(self) -> str:
        """The provider and the model."""
        return f"{self.provider.name} {self.settings.model}".strip()

    def close(self) -> None:
        """Let go of connections, where the provider has any."""
        getattr(self.provider, "close", lambda: None)()

    def warm(self, passages: int, tokens: int, beside: int = 0) -> None:
        """See `ModelClient`.

        Where that fails nothing is said, since the first request will. Nothing is loaded where
        the tasks of a question have several models: one would be in the way of the other.
        """
        begin = getattr(self.provider, "warm", None)
        if begin is not None and len({self.model_of(task) for task in _OF_A_QUESTION}) == 1:
            empty = Request(task="answer", instructions="", messages=())
            most = most_tokens_of_passages(passages, tokens) + beside
            begin(self.prepared(empty).parameters, most)

    def reply(self, request: Request) -> Reply:
        """See `LanguageModel`; also raises `BudgetError`.

        Threads that ask the same at the same time share one call, where replies are kept.
        """
        request = self.prepared(request)
        key = request_key(self.provider.name, request)
        with self._guard:
            alone = self._under_way.setdefault(key, threading.Lock())
        with alone if self.log is not None else nullcontext():
            *_, reply = self._answer(request, self._whole)
        assert isinstance(reply, Reply)
        return reply

    def stream(self, request: Request) -> Iterator[str | Reply]:
        """See `LanguageModel`; also raises `BudgetError`.

        A reply that had to be repaired comes whole, after the pieces of the first try.
        """
        return self._answer(request, self._pieces)

    def kept(self, request: Request) -> Reply | None:
        """The reply to a request that would be answered without asking; not counted as used."""
        request = self.prepared(request)
        entry = self._kept(request_key(self.provider.name, request), counted=False)
        if entry is None:
            return None
        reply = restored(entry)
        return replace(reply, value=parse(request, reply))

    def unknown(self, requests: Iterable[Request]) -> list[Request]:
        """Those that would be asked: of requests that are the same, and not kept, the first."""
        if self.log is None:
            return list(requests)
        prepared = [self.prepared(request) for request in requests]
        distinct = {request_key(self.provider.name, one): one for one in reversed(prepared)}
        return [one for one in reversed(distinct.values()) if self.kept(one) is None]

    def reject(self, request: Request, reason: str) -> None:
        """Record a kept reply as failed, since the text does not bear it out: ask for it again."""
        kept = self._kept(request_key(self.provider.name, self.prepared(request)), counted=False)
        if kept is not None:
            self._record(replace(kept, reply="", reason=reason))

    def model_of(self, task: Task) -> str:
        """The model that is asked for a task."""
        return self.settings.task(task).model or self.settings.model

    def prepared(self, request: Request) -> Request:
        """The request with the parameters of its task."""
        if request.parameters is not None:
            return request
        task = self.settings.task(request.task)
        parameters = Parameters(
            model=self.model_of(request.task),
            temperature=task.temperature,
            max_output_tokens=task.max_output_tokens,
            seconds=task.seconds,
        )
        return replace(request, parameters=parameters)

    def estimate(self, requests: Sequence[Request], reply_tokens: int = REPLY_TOKENS) -> Estimate:
        """See `ModelClient`; each task is judged by its own replies."""
        new = [request for request in requests if self.kept(request) is None]
        past = self._past.entries() if self._past else ()
        found = []
        for task in dict.fromkeys(["answer", *(request.task for request in new)]):
            same = [e for e in past if e.task == task and e.model == self.model_of(task)]
            most = min(reply_tokens, self.settings.task(task).max_output_tokens)
            found.append(estimate([r for r in new if r.task == task], 0, same, most))
        documents = {name for request in new for name in request.documents}
        return replace(total(found), documents=len(documents), cached=len(requests) - len(new))

    def estimate_answer(
        self, question: str, search: Callable[..., SearchResult], *, mode: AnswerMode, steps: int
    ) -> Estimate:
        """See `ModelClient`."""
        rehearsal, settings = Rehearsal(self.name, self.kept), self.settings
        found = search(question, model=rehearsal)
        asked = rehearsal.asked
        if mode == "stepwise":
            asked = asked * steps  # a search each
            asked += step_requests(question, found, settings, steps)
        if found.reached and mode == "global":
            asked += report_requests(found, settings)
        elif found.reached:
            asked.append(answer_request(question, found.hits, settings, found.context.parts))
        return self.estimate(asked)

    def answer(
        self,
        question: str,
        search: Callable[..., SearchResult],
        tell: Callable[[str], None],
        *,
        mode: AnswerMode,
        steps: int,
    ) -> Answer:
        """See `ModelClient`."""
        searched = partial(search, model=self)
        if mode == "stepwise":
            found, asked = search_in_steps(question, searched, self, self.settings, steps)
        else:
            found, asked = searched(question), ()
        made = answer(found, self, self.settings, tell, by_reports=mode == "global")
        spent = self.budget.spent
        return replace(
            made,
            mode=mode,
            questions=asked,
            usage=spent.usage,
            cost=spent.cost,
            calls=spent.requests,
            cached_calls=spent.cached,
        )

    def trials(self) -> Iterator[Trial]:
        """See `ModelClient`: the tasks, then streaming, length and tools.

        Each but the last asks in the form of a schema. The long prompt fills `llm.context_tokens`;
        what is asked for stands at its beginning, where servers cut a prompt that they cannot
        hold. A model that is away fails all of them at once.
        """
        known = replace(
            ask("extract", _INSTRUCTIONS, untrusted_block(_TEXT), subject="clew check --llm"),
            schema=Known,
        )
        for task in get_args(Task):
            yield _tried(self, task, replace(known, task=task))
        yield _tried(self, "stream", known)
        settings = self.settings
        room = min(settings.context_tokens - settings.answer.max_output_tokens, _LONGEST)
        text = _TEXT + _FILLER * int(room * _SHARE / (len(_FILLER) * PER_CHARACTER))
        long = ask("answer", _INSTRUCTIONS, untrusted_block(text), subject="clew check --llm")
        yield _tried(self, "context length", replace(long, schema=Known))
        tool = ToolDefinition(
            name="look_up",
            description="Looks up who built a clock.",
            parameters={
                "type": "object",
                "properties": {"place": {"type": "string"}},
                "required": ["place"],
            },
        )
        called = ask("answer", "Use the tool.", "Who built the clock of Vell? Look it up.")
        yield _tried(self, "tools", replace(called, tools=(tool,)))

    def check(self) -> None:
        """See `ModelClient`."""
        self.budget.check()

    def limited(
        self, max_tokens: int | None = None, max_cost: float | None = None, *, keep: bool = True
    ) -> LanguageModelClient:
        """The same model for one piece of work: counted by itself, within limits of its own, too.

        Without `keep`, replies are neither kept nor used again.
        """
        client = copy.copy(self)
        client.budget = Budget(max_tokens or 0, max_cost or 0.0, within=self.budget)
        client.log = self.log if keep else None
        return client

    # --- one request

    def _answer(self, request: Request, ask: Ask) -> Iterator[str | Reply]:
        request = self.prepared(request)
        key = request_key(self.provider.name, request)
        kept = self._kept(key, counted=True)
        if kept is not None:
            reply = restored(kept)
            self.budget.count(reply)
            yield reply.text
            yield replace(reply, value=parse(request, reply))
            return
        self.budget.check()
        tried: list[Reply] = []
        try:
            with self.slots:
                yield from self._fresh(key, request, ask, tried)
        except ModelError as error:
            reason = f"{error.reason}: {error}" if isinstance(error, ReplyError) else str(error)
            self._record(logged(key, request, _together(tried), reason))
            raise

    def _fresh(
        self, key: str, request: Request, ask: Ask, tried: list[Reply]
    ) -> Iterator[str | Reply]:
        """What the provider says; the whole reply is checked, and kept where it is sound.

        `tried` takes every reply, since one that cannot be used was paid for, too.
        """
        reply: Reply | None = None

        def pieces() -> Iterator[str]:
            nonlocal reply
            for piece in ask(request):
                if isinstance(piece, Reply):
                    reply = piece
                else:
                    yield encodable(piece)

        yield from redacted_pieces(pieces())
        if reply is None:
            raise ReplyError(f"{self.name} ended without a reply", "truncated")
        reply = replace(reply, text=redacted(encodable(reply.text)))
        self.budget.count(reply)
        tried.append(reply)
        try:
            value = parse(request, reply)
        except ReplyError as error:
            value = self._repaired(request, reply, error, tried)
        whole = _together(tried) or reply
        self._record(logged(key, request, whole))
        yield replace(whole, value=value)

    def _repaired(
        self, request: Request, reply: Reply, error: ReplyError, tried: list[Reply]
    ) -> BaseModel | None:
        """The value of the reply to the same request with the error told; asked for once."""
        if error.reason != "malformed":
            raise error
        self.budget.check()
        (second,) = self._whole(repaired(request, reply, error))
        assert isinstance(second, Reply)
        self.budget.count(second)
        tried.append(second)
        return parse(request, second)

    def _whole(self, request: Request) -> Iterator[str | Reply]:
        yield self._tried(request, self.provider.reply)

    def _pieces(self, request: Request) -> Iterator[str | Reply]:
        """Pieces as they come; tried again, or by the fallback, before the first one alone."""

        def begin(request: Request) -> tuple[str | Reply, Iterator[str | Reply]]:
            pieces = iter(self.provider.stream(request))
            return next(pieces), pieces

        first, rest = self._tried(request, begin)
        yield first
        yield from rest

    # --- trying

    def _tried(self, request: Request, work: Callable[[Request], T]) -> T:
        """What `work` makes of the request, tried again, and by the fallback model at last."""
        for until, away in self._away:
            if time.monotonic() < until:
                raise away
        self._away.clear()
        try:
            return self._retried(request, work)
        except ReplyError:
            raise
        except ModelError as error:
            if isinstance(error, ModelUnavailableError) and not error.reached:
                self._away[:] = [(time.monotonic() + AWAY_SECONDS, error)]
                raise
            fallback, asked = self.settings.fallback_model, request.parameters
            if not fallback or asked is None or asked.model == fallback:
                raise
            logger.warning("%s: %s is asked instead", error, fallback)
        return self._retried(replace(request, parameters=replace(asked, model=fallback)), work)

    def _retried(self, request: Request, work: Callable[[Request], T]) -> T:
        assert request.parameters is not None
        deadline = time.monotonic() + request.parameters.seconds
        return with_retries(lambda: work(request), retries=self.settings.retries, deadline=deadline)

    # --- what is kept

    def _kept(self, key: str, *, counted: bool) -> LoggedReply | None:
        if self.log is None:
            return None
        try:
            return self.log.find(key, counted=counted)
        except StoreError as error:
            logger.warning("kept replies cannot be read: %s", error)
            return None

    def _record(self, entry: LoggedReply) -> None:
        if self.log is None:
            return
        try:
            self.log.record(entry)
        except StoreError as error:
            logger.warning("a reply cannot be kept: %s", error)


def _together(replies: list[Reply]) -> Reply | None:
    """The last reply with what all of them took; None where there are none."""
    if not replies:
        return None
    known = [reply.cost for reply in replies if reply.cost is not None]
    return replace(
        replies[-1],
        usage=sum((reply.usage for reply in replies), Usage()),
        cost=sum(known) if known else None,
        seconds=sum(reply.seconds for reply in replies),
    )


# Requests by their hash, and replies as the store keeps them.


_VERSION = 1
"""Of what is hashed and how replies are written; another one makes all of them unknown."""


def request_key(provider: str, request: Request) -> str:
    """Hash of all that the answer depends on; the same for the same request in every process."""
    asked = request.parameters
    assert asked is not None
    schema = None if request.schema is None else request.schema.model_json_schema()
    parts = [
        _VERSION,
        provider,
        [asked.model, asked.temperature, asked.max_output_tokens],
        request.instructions,
        [asdict(message) for message in request.messages],
        schema,
        [[tool.name, tool.description, dict(tool.parameters)] for tool in request.tools],
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def logged(key: str, request: Request, reply: Reply | None, reason: str = "") -> LoggedReply:
    """A reply as the store keeps it; with a reason a failure, with what it took."""
    asked = request.parameters
    model = asked.model if asked else ""
    spent = reply or Reply(text="", finish="stop", model=model)
    kept = {"text": spent.text, "finish": spent.finish, "calls": list(map(asdict, spent.calls))}
    return LoggedReply(
        key=key,
        task=request.task,
        model=model,
        subject=request.subject[:200],
        documents=request.documents,
        reason=reason,
        reply="" if reason else json.dumps(kept),
        characters=len(prompt_text(request)),
        usage=spent.usage,
        cost=spent.cost,
        seconds=spent.seconds,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def restored(entry: LoggedReply) -> Reply:
    """A reply that was kept; nothing was spent on it."""
    kept = json.loads(entry.reply)
    return Reply(
        text=kept["text"],
        finish=kept["finish"],
        model=entry.model,
        usage=Usage(),
        cost=None,
        calls=tuple(ToolCall(**call) for call in kept["calls"]),
        cached=True,
    )


# Replies held to their schema: parsed, and asked for once more with what is wrong.


_SHOWN = 500
"""Characters of a reply, and of what is wrong with it, that the model is told."""
_SAID = 80
"""Characters of a reply without JSON that the user is told."""


def parse(request: Request, reply: Reply) -> BaseModel | None:
    """What the request's schema makes of a reply; None for a request of plain text.

    Prose or a fence around the JSON is passed over. Raises `ReplyError` for a reply that was
    refused, cut short or empty, or that is not of the schema.
    """
    if reply.finish == "refused":
        raise ReplyError(f"{reply.model} would not answer", "refused")
    if reply.finish == "length":
        raise ReplyError(
            f"{reply.model} was cut short at {reply.usage.output_tokens:,} tokens; raise"
            f" llm.{request.task}.max_output_tokens",
            "truncated",
        )
    if not reply.text.strip() and not reply.calls:
        raise ReplyError(f"{reply.model} answered with nothing", "empty")
    if reply.calls and not request.tools:
        raise ReplyError(f"{reply.model} called a tool, and was offered none", "malformed")
    if request.schema is None or reply.calls:
        return None
    start, end = reply.text.find("{"), reply.text.rfind("}")
    if start < 0:
        said = one_line(reply.text)[:_SAID]
        raise _of_another_form(reply, f"expected a JSON object, got {said!r}")
    try:
        return request.schema.model_validate_json(reply.text[start : end + 1])
    except RecursionError as error:
        raise _of_another_form(reply, "it is nested too deeply") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the reply"
        raise _of_another_form(reply, f"{place}: {first['msg']}"[:_SHOWN]) from error


def _of_another_form(reply: Reply, wrong: str) -> ReplyError:
    return ReplyError(f"{reply.model} did not answer in the form asked for: {wrong}", "malformed")


def repaired(request: Request, reply: Reply, error: ReplyError) -> Request:
    """The request once more, with the reply and what is wrong with it."""
    told = f"That is not what was asked for. {error}. Answer again, with the JSON object alone."
    return replace(
        request,
        messages=(
            *request.messages,
            Message(role="assistant", text=escaped(reply.text[:_SHOWN]) or "(nothing)"),
            Message(role="user", text=told),
        ),
    )


# Trying again: what can pass by itself is waited for, what cannot is not.


FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0
"""Seconds: before the first further try, doubled with each, and at most."""


def with_retries(
    work: Callable[[], T],
    *,
    retries: int,
    deadline: float,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.monotonic,
    jitter: Callable[[], float] = random.random,
) -> T:
    """What `work` returns, tried again while the model is overloaded and there is time.

    One that was not reached at all is not tried again: whoever waits is told at once. The wait is
    what the provider asks for, else it doubles, with a jitter of a half.
    """
    for attempt in range(retries + 1):
        try:
            return work()
        except ModelUnavailableError as error:
            wait = error.retry_after
            if wait is None:
                wait = min(LONGEST_WAIT, FIRST_WAIT * 2**attempt) * (0.5 + jitter())
            late = now() + wait > deadline
            if not error.reached or attempt == retries or late or wait > LONGEST_WAIT:
                raise
            sleep(wait)
    raise AssertionError("the last try returns or raises")


# What a language model can: a small known text for each task.


_TEXT = "The great clock of Vell was built by Ada Morn, who finished it in 1820."
_NAME, _YEAR = "Ada Morn", 1820
_FILLER = " The days went by, and nothing else was built in the town."
_LONGEST = 32_768
"""Tokens of the longest prompt that is tried: it costs time, and perhaps money."""
_SHARE = 0.8
"""Of the context that is filled, by an estimate."""
_INSTRUCTIONS = (
    "Who built the clock that the document speaks of, and in which year was it finished? Answer"
    f' with a JSON object: {{"name": "…", "year": 1234}}. {NOTICE}'
)


class Known(BaseModel):
    """What the text says."""

    name: str
    year: int


def _tried(model: LanguageModelClient, what: str, request: Request) -> Trial:
    began, rate = time.monotonic(), None
    asked = model.prepared(request).parameters
    try:
        if what == "stream":
            *pieces, reply = model.stream(request)
            ok, found = len(pieces) > 1, f"{len(pieces)} pieces"
        else:
            reply = model.reply(request)
            ok, found = _judged(what, request, reply)
        assert isinstance(reply, Reply)
        if reply.usage.output_tokens and reply.seconds:
            rate = round(reply.usage.output_tokens / reply.seconds, 1)
    except ModelError as error:
        ok, found = False, str(error)
    return Trial(
        what=what,
        model=asked.model if asked else "",
        ok=ok,
        found=found,
        seconds=round(time.monotonic() - began, 2),
        tokens_per_second=rate,
    )


def _judged(what: str, request: Request, reply: Reply) -> tuple[bool, str]:
    """Whether a reply is right, and why not; what says no number of tokens is believed."""
    if what == "tools":
        names = [call.name for call in reply.calls]
        return names == ["look_up"], f"called {', '.join(names)}" if names else "called no tool"
    read, sent = reply.usage.input_tokens, fewest_tokens(request)
    if what == "context length" and 0 < read < 0.9 * sent:  # how words are counted differs
        cut = f"read {read:,} tokens of {sent:,} at least: lower llm.context_tokens, or raise"
        return False, f"{cut} the server's own limit"
    value = reply.value
    right = isinstance(value, Known) and (value.name, value.year) == (_NAME, _YEAR)
    found = "right" if right else f"in form, but wrong: {value!r}"
    return right, f"{found}, of {read:,} tokens" if what == "context length" and read else found
