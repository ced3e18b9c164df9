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


def test_the_same_request_is_asked_once(store: SqliteStore) -> None:
    model = ScriptedLanguageModel([ADA])
    first = client(model, store).reply(request(schema=Person))

    again = client(model, store).reply(request(schema=Person))

    assert model.calls == 1
    assert first.value == again.value == Person(name="Ada Morn", year=1820)
    assert (first.cached, again.cached) == (False, True)
    assert first.usage.total > 0
    assert again.usage.total == 0
    (entry,) = Replies(store.backend).entries()
    assert (entry.hits, entry.reason, entry.documents) == (1, "", ("d1",))
    assert entry.usage == first.usage


class _Slow(ScriptedLanguageModel):
    """Answers once several wait for it, or a moment has passed."""

    def reply(self, request: Request) -> Reply:
        time.sleep(0.2)
        return super().reply(request)


def test_one_call_serves_all_that_ask_the_same_at_the_same_time(store: SqliteStore) -> None:
    model = _Slow({"Who?": ADA, "Where?": "Vell"})
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
def test_another_request_is_asked_by_itself(store: SqliteStore, other: object) -> None:
    assert isinstance(other, type(request()))
    model = ScriptedLanguageModel([ADA, ADA])
    client(model, store).reply(request(schema=Person))

    client(model, store).reply(other)

    assert model.calls == 2


def test_what_was_said_of_a_document_goes_with_it(store: SqliteStore) -> None:
    store.save(make_entry("diary", "Ada kept bees."))
    (document,) = store.documents()
    model = ScriptedLanguageModel([ADA, ADA])
    asked = client(model, store)
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


def test_streamed_pieces_are_the_reply(store: SqliteStore) -> None:
    model = ScriptedLanguageModel([ADA])

    *pieces, whole = client(model, store).stream(request(schema=Person))

    assert "".join(map(str, pieces)) == ADA
    assert isinstance(whole, Reply)
    assert whole.value == Person(name="Ada Morn", year=1820)
    *pieces, again = client(model, store).stream(request(schema=Person))
    assert (pieces, isinstance(again, Reply) and again.value) == ([ADA], whole.value)
    assert model.calls == 1


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
    assert asked.budget.spent.requests == 2
    assert reply.usage == asked.budget.spent.usage


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

    assert error.value.reason == reason
    assert model.calls == len(replies)
    (entry,) = Replies(store.backend).entries()
    assert entry.reason.startswith(f"{reason}: ")
    assert entry.reply == ""


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


def _tries(errors: list[ModelUnavailableError], **given: object) -> tuple[list[float], object]:
    waited: list[float] = []
    left = list(errors)

    def work() -> str:
        if left:
            raise left.pop(0)
        return "done"

    options: dict[str, object] = {"retries": 5, "deadline": 1000.0, **given}
    try:
        found: object = with_retries(
            work,
            sleep=waited.append,
            now=lambda: sum(waited),
            jitter=random.Random(7).random,
            **options,  # type: ignore[arg-type]
        )
    except ModelUnavailableError as error:
        found = error
    return waited, found


def _busy(retry_after: float | None = None) -> ModelUnavailableError:
    return ModelUnavailableError("busy", reached=True, retry_after=retry_after)


def test_waits_double_with_a_jitter() -> None:
    waited, found = _tries([_busy() for _ in range(5)])

    assert found == "done"
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
    waited, found = _tries(errors, **given)

    assert waited == []
    assert found is errors[0]


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
    three, under_way, most = threading.Barrier(3), set[str](), list[int]()

    class Together(ScriptedLanguageModel):
        """Answers three at a time: a fourth would be seen beside them."""

        def reply(self, asked: Request) -> Reply:
            under_way.add(asked.messages[0].text)
            three.wait(5)
            most.append(len(under_way))
            three.wait(5)
            under_way.discard(asked.messages[0].text)
            return super().reply(asked)

    asked = client(Together({str(n): "yes" for n in range(12)}), concurrency=3)
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


class Cutting(ScriptedLanguageModel):
    """Reads the last words of a prompt alone, as many as it was made for."""

    longest = 2000

    def reply(self, request: Request) -> Reply:
        words = f"{request.instructions} {request.messages[0].text}".split()
        read = min(len(words), self.longest)
        usage = Usage(input_tokens=read, output_tokens=9)
        return Reply(text=ADA, finish="stop", model="m", usage=usage)


@pytest.mark.parametrize(("context", "ok"), [(2500, True), (8192, False), (10_000_000, False)])
def test_a_server_that_cuts_prompts_is_found(context: int, ok: bool) -> None:
    found = {trial.what: trial for trial in trials(client(Cutting(), context_tokens=context))}

    length = found["context length"]
    assert length.ok is ok
    if not ok:
        assert "read 2,000 tokens of" in length.found
        assert "llm.context_tokens" in length.found
    assert found["extract"].ok


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

    assert (found["requests"], found["failures"], found["cache_hits"]) == (3, 1, 6)
    assert (found["input_tokens"], found["cached_tokens"], found["output_tokens"]) == (20, 8, 40)
    assert (found["tokens_per_second"], found["p50_seconds"]) == (round(40 / 6, 1), 3.0)
    assert (found["cost"], found["tasks"]["extract"]["cost"]) == (0.5, None)
    assert statistics([])["requests"] == 0
