from __future__ import annotations

import json
from dataclasses import replace

import pytest

from clew.errors import ModelUnavailableError
from clew.models.llm.budget import statistics
from clew.models.llm.check import trials
from clew.ports.models import LoggedReply, Reply, Request, ToolCall
from clew.testing.fakes import ScriptedLanguageModel
from clew.types.results import Usage
from tests.unit.llm import ADA, client

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


def test_one_that_is_away_is_asked_once() -> None:
    model = ScriptedLanguageModel([ModelUnavailableError("away")])

    assert {trial.found for trial in trials(client(model))} == {"away"}
    assert model.calls == 1


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
