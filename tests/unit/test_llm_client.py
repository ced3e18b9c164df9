"""The client of language models, and the check of one."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import BudgetError, ModelError, ModelUnavailableError, ReplyError
from clew.models.llm.budget import Budget, estimate, statistics
from clew.models.llm.check import trials
from clew.models.llm.client import LONGEST_WAIT, parse, with_retries
from clew.ports import LoggedReply, Reply, Request, ToolCall, ToolDefinition
from clew.stores.sqlite.store import SqliteStore
from clew.stores.state import Replies
from clew.testing.entries import EMBEDDER, make_entry
from clew.testing.fakes import ScriptedLanguageModel
from clew.types import Usage
from tests.unit.llm import ADA, Person, client, request

# --- llm client


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path, embedder=EMBEDDER)
    yield store
    assert store.check().problems == ()
    store.close()


def _reply(text: str = "yes", **given: object) -> Reply:
    return replace(Reply(text=text, finish="stop", model="small"), **given)  # type: ignore[arg-type]


# --- what is kept


def test_the_same_request_is_asked_once_and_costs_nothing_again(store: SqliteStore) -> None:
    model = ScriptedLanguageModel([ADA])
    asked = client(model, store)
    *pieces, first = asked.stream(request(schema=Person))
    again = client(model, store).reply(request(schema=Person))
    *repeated, third = asked.stream(request(schema=Person))

    assert model.calls == 1
    assert ("".join(map(str, pieces)), repeated) == (ADA, [ADA])
    for one in (first, again, third):
        assert isinstance(one, Reply)
        assert one.value == Person(name="Ada Morn", year=1820)
        assert one.cached == (one is not first) == (one.usage.total == 0)
    (entry,) = Replies(store.backend).entries()
    assert (entry.hits, entry.reason, entry.documents) == (2, "", ("d1",))
    assert entry.usage == asked.budget.spent.usage


def test_one_call_serves_all_that_ask_the_same_at_the_same_time(store: SqliteStore) -> None:
    def slowly(asked: Request) -> str:
        time.sleep(0.2)
        return ADA if asked.schema else "Vell"

    model = ScriptedLanguageModel(slowly)
    asking = client(model, store, concurrency=4)

    with ThreadPoolExecutor(5) as pool:
        found = list(pool.map(lambda _: asking.reply(request(schema=Person)), range(4)))
        found.append(pool.submit(asking.reply, request("Where?")).result())

    assert model.calls == 2
    assert [one.cached for one in found].count(False) == 2
    assert {one.text for one in found} == {ADA, "Vell"}
    assert (asking.budget.spent.requests, asking.budget.spent.cached) == (2, 3)


@pytest.mark.parametrize(
    "other",
    [
        request("Who else?", schema=Person),
        request(),
        replace(request(schema=Person), instructions="Answer well."),
        replace(request(schema=Person), task="judge"),
        replace(
            request(schema=Person),
            tools=(ToolDefinition(name="find", description="", parameters={}),),
        ),
    ],
    ids=["text", "schema", "instructions", "parameters", "tools"],
)
def test_another_request_is_asked_by_itself(store: SqliteStore, other: Request) -> None:
    model = ScriptedLanguageModel([ADA, ADA])
    for asked in (request(schema=Person), other):
        client(model, store).reply(asked)

    assert model.calls == 2


def test_what_was_said_of_a_document_goes_with_it(store: SqliteStore) -> None:
    store.save(make_entry("diary", "Ada kept bees."))
    (document,) = store.documents()
    asked = client(ScriptedLanguageModel([ADA, ADA]), store)
    asked.reply(replace(request("of the diary"), documents=(document.id,)))
    asked.reply(request("of another"))

    store.delete([document.id])

    assert [entry.subject for entry in Replies(store.backend).entries()] == ["of another"]


def test_a_failure_is_kept_with_its_reason_and_asked_again(store: SqliteStore) -> None:
    model = ScriptedLanguageModel([ModelError("no such model"), ADA])
    with pytest.raises(ModelError, match="no such model"):
        client(model, store).reply(request())
    (entry,) = Replies(store.backend).entries()
    assert entry.reason == "no such model"

    assert client(model, store).reply(request()).text == ADA
    assert [entry.reason for entry in Replies(store.backend).entries()] == [""]


# --- the form of replies


@pytest.mark.parametrize("text", [f"```json\n{ADA}\n```", f"Here it is: {ADA}. Anything else?"])
def test_prose_around_the_json_is_passed_over(text: str) -> None:
    reply = client(ScriptedLanguageModel([text])).reply(request(schema=Person))

    assert reply.value == Person(name="Ada Morn", year=1820)


def test_a_malformed_reply_is_repaired_once(store: SqliteStore) -> None:
    model = ScriptedLanguageModel(['{"name": "Ada Morn", "year": "long ago"}', ADA])
    asked = client(model, store)

    reply = asked.reply(request(schema=Person))

    assert reply.value == Person(name="Ada Morn", year=1820)
    told = model.asked[1].messages
    assert [message.role for message in told] == ["user", "assistant", "user"]
    assert "year: Input should be a valid integer" in told[-1].text
    spent = asked.budget.spent
    assert (spent.requests, spent.usage) == (2, reply.usage)


@pytest.mark.parametrize(
    ("replies", "reason"),
    [
        (["nothing of the kind", "neither"], "malformed"),
        ([_reply("")], "empty"),
        ([_reply(ADA, finish="length")], "truncated"),
        ([_reply("no", finish="refused")], "refused"),
        (["[" * 100_000, "[" * 100_000], "malformed"),
    ],
)
def test_what_cannot_be_used_is_recorded(
    store: SqliteStore, replies: list[str | Reply], reason: str
) -> None:
    model = ScriptedLanguageModel(replies)

    with pytest.raises(ReplyError) as error:
        client(model, store).reply(request(schema=Person))

    (entry,) = Replies(store.backend).entries()
    assert (error.value.reason, model.calls) == (reason, len(replies))
    assert (entry.reason.partition(": ")[0], entry.reply) == (reason, "")


CALLING = _reply(
    "", calls=(ToolCall(id="1", name="nothing_of_that_name", arguments="{"),), finish="tool_calls"
)


def test_a_reply_that_calls_a_tool_is_no_text() -> None:
    find = ToolDefinition(name="find", description="", parameters={})
    asked = replace(request(schema=Person), tools=(find,))

    reply = client(ScriptedLanguageModel([CALLING])).reply(asked)

    assert (reply.calls, reply.value) == (CALLING.calls, None)


@pytest.mark.parametrize("schema", [Person, None])
def test_a_tool_that_was_not_offered_is_no_reply_to_keep(
    store: SqliteStore, schema: type[Person] | None
) -> None:
    model = client(ScriptedLanguageModel([CALLING, CALLING, ADA]), store)

    with pytest.raises(ReplyError, match="was offered none"):
        model.reply(request(schema=schema))
    assert model.reply(request(schema=schema)).text == ADA


@given(text=st.text(max_size=80) | st.sampled_from([ADA[:n] for n in range(len(ADA))]))
def test_no_reply_is_taken_for_what_it_is_not(text: str) -> None:
    """Malformed replies raise `ReplyError` and nothing else."""
    try:
        value = parse(request(schema=Person), _reply(text))
    except ReplyError:
        return
    assert isinstance(value, Person)


# --- trying again


def _tries(errors: list[ModelUnavailableError], **given: Any) -> tuple[list[float], bool]:  # noqa: ANN401
    """The waits between the tries of what fails like this, and whether it came to an end."""
    waited, left = list[float](), list(errors)

    def work() -> None:
        if left:
            raise left.pop(0)

    try:
        with_retries(
            work,
            sleep=waited.append,
            now=lambda: sum(waited),
            jitter=random.Random(7).random,
            **{"retries": 5, "deadline": 1000.0, **given},
        )
    except ModelUnavailableError:
        return waited, False
    return waited, True


def _busy(retry_after: float | None = None) -> ModelUnavailableError:
    return ModelUnavailableError("busy", reached=True, retry_after=retry_after)


def test_waits_double_with_a_jitter() -> None:
    waited, done = _tries([_busy() for _ in range(5)])

    assert done
    assert all(0.5 * 2**n * 0.5 <= wait <= 0.5 * 2**n * 1.5 for n, wait in enumerate(waited))
    assert len(set(waited)) == 5


@pytest.mark.parametrize(
    ("errors", "given"),
    [
        ([ModelUnavailableError("away")], {}),
        ([_busy(LONGEST_WAIT + 1)], {}),
        ([_busy(2.0)], {"deadline": 1.0}),
        ([_busy()], {"retries": 0}),
    ],
    ids=["not reached", "too long", "too late", "no more"],
)
def test_some_waits_are_in_vain(
    errors: list[ModelUnavailableError], given: dict[str, object]
) -> None:
    assert _tries(errors, **given) == ([], False)


def test_one_that_is_away_is_not_asked_again_at_once() -> None:
    model = ScriptedLanguageModel([ModelUnavailableError("away"), ADA])
    asked = client(model)

    for _ in range(3):
        with pytest.raises(ModelUnavailableError, match="away"):
            asked.reply(request())

    assert model.calls == 1


def test_the_fallback_answers_where_the_model_fails(store: SqliteStore) -> None:
    model = ScriptedLanguageModel([ModelError("no such model"), ADA])

    reply = client(model, store, fallback_model="other").reply(request())

    assert reply.text == ADA
    asked = [one.parameters.model for one in model.asked if one.parameters]
    assert asked == ["small", "other"]


# --- what is spent


def test_the_budget_stops_before_the_request_beyond_it(store: SqliteStore) -> None:
    model = ScriptedLanguageModel([_reply(usage=Usage(input_tokens=90, output_tokens=10))] * 3)
    asked = client(model, store)
    asked.budget = Budget(max_tokens=150)
    asked.reply(request("a"))
    asked.reply(request("b"))

    with pytest.raises(BudgetError, match=r"200 of 150 tokens are spent.*llm.max_tokens_spent"):
        asked.reply(request("c"))
    assert model.calls == 2
    assert asked.reply(request("a")).cached, "what is kept costs nothing"
    assert (asked.budget.spent.requests, asked.budget.spent.cached) == (2, 1)


def test_an_estimate_goes_by_what_was_asked_before(store: SqliteStore) -> None:
    """Half the requests tell within 15 % what the other half takes."""
    model = ScriptedLanguageModel({f"{'word ' * n}{n}": "so it is" for n in range(1, 41)})
    asked = client(model, store)
    texts = [f"{'word ' * n}{n}" for n in range(1, 41)]
    random.Random(3).shuffle(texts)
    for text in texts[:20]:
        asked.reply(request(text))
    past = Replies(store.backend).entries()
    before = asked.budget.spent.usage.total

    told = estimate([request(text) for text in texts[20:]], 0, past, 100)

    for text in texts[20:]:
        asked.reply(request(text))
    spent = asked.budget.spent.usage.total - before
    assert abs(told.input_tokens + told.output_tokens - spent) < 0.15 * spent
    assert (told.calls, told.documents, told.cost) == (20, 1, None)


def test_requests_at_a_time_are_bounded() -> None:
    """Three are answered at a time: a fourth would be seen beside them."""
    three, under_way, most = threading.Barrier(3), set[str](), list[int]()

    def together(asked: Request) -> str:
        under_way.add(asked.messages[0].text)
        three.wait(5)
        most.append(len(under_way))
        three.wait(5)
        under_way.discard(asked.messages[0].text)
        return "yes"

    asked = client(ScriptedLanguageModel(together), concurrency=3)
    with ThreadPoolExecutor(12) as pool:
        list(pool.map(lambda n: asked.reply(request(str(n))), range(12)))

    assert set(most) == {3}


# --- llm check


CALL = ToolCall(id="1", name="look_up", arguments='{"place": "Vell"}')
TASKS = ["extract", "context", "summarise", "answer", "route", "judge"]


def test_a_model_that_can_all(monkeypatch: pytest.MonkeyPatch) -> None:
    called = Reply(text="", finish="tool_calls", model="small", calls=(CALL,))
    model = ScriptedLanguageModel([*[ADA] * 8, called])

    found = list(trials(client(model)))

    assert [trial.what for trial in found] == [*TASKS, "stream", "context length", "tools"]
    assert [trial.found for trial in found if not trial.ok] == []


def test_a_model_that_is_wrong_or_calls_nothing() -> None:
    wrong = json.dumps({"name": "Corwin Hale", "year": 1872})
    model = ScriptedLanguageModel([wrong, "no", "no", *[ADA] * 6, "I cannot."])

    found = {trial.what: trial for trial in trials(client(model))}

    failed = {what: trial.found for what, trial in found.items() if not trial.ok}
    assert failed.keys() == {"extract", "context", "tools"}
    assert "Corwin Hale" in failed["extract"]
    assert "form asked for" in failed["context"]
    assert failed["tools"] == "called no tool"


@pytest.mark.parametrize(("context", "ok"), [(2500, True), (8192, False), (10_000_000, False)])
def test_a_server_that_cuts_prompts_is_found(context: int, ok: bool) -> None:
    """One that reads 2,000 words at most."""

    def cutting(asked: Request) -> Reply:
        words = len(f"{asked.instructions} {asked.messages[0].text}".split())
        return _reply(ADA, usage=Usage(input_tokens=min(words, 2000), output_tokens=9))

    model = client(ScriptedLanguageModel(cutting), context_tokens=context)
    found = {trial.what: trial for trial in trials(model)}

    length = found["context length"]
    assert (length.ok, found["extract"].ok) == (ok, True)
    told = "read 2,000 tokens of" in length.found and "llm.context_tokens" in length.found
    assert told == (not ok)


def test_figures_are_those_of_the_requests() -> None:
    entry = LoggedReply(
        key="a",
        task="extract",
        model="small",
        subject="",
        documents=(),
        reason="",
        reply="",
        characters=1,
        usage=Usage(input_tokens=10, cached_tokens=4, output_tokens=20),
        cost=None,
        seconds=2.0,
        at="",
        hits=3,
    )
    failed = replace(entry, task="answer", reason="empty", hits=0, cost=0.5, usage=Usage())

    found = statistics([entry, replace(entry, seconds=4.0), failed])

    assert found["tasks"].keys() == {"answer", "extract"}
    assert (found["cost"], found.pop("tasks")["extract"]["cost"]) == (0.5, None)
    assert found == {
        "requests": 3,
        "failures": 1,
        "cache_hits": 6,
        "input_tokens": 20,
        "cached_tokens": 8,
        "output_tokens": 40,
        "cost": 0.5,
        "tokens_per_second": round(40 / 6, 1),
        "p50_seconds": 3.0,
        "p95_seconds": 3.9,
    }
    assert statistics([])["requests"] == 0
