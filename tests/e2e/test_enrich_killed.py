"""`clew enrich` is killed in its midst: what was answered is not asked again."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

import clew
from clew.ports import Enrichment
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder
from tests.e2e.conftest import Run

DOCUMENTS = 40
SECONDS = 0.05
"""That a reply takes."""
ENDED = {"done": True, "done_reason": "stop", "prompt_eval_count": 900, "eval_count": 30}
ENRICH = """
import sys, clew
from clew.testing.fakes import HashEmbedder
with clew.open(sys.argv[1], embedder=HashEmbedder()) as store:
    (report,) = store.enrich(sys.argv[2])
    print(report.done, report.facts, report.requests, report.cached, flush=True)
"""


class Model(HTTPServer):
    """A server as Ollama's that finds one fact in each passage, and takes its time."""

    def __init__(self) -> None:
        super().__init__(threaded=True)
        self.asked: list[str] = []
        self.expect_request("/api/show").respond_with_json({"model_info": {}})
        self.expect_request("/api/chat").respond_with_handler(self._answer)

    def _answer(self, request: Request) -> Response:
        messages = request.get_json()["messages"]
        match = re.search(r"(Ada Morn) (wrote) (letter \d+)", messages[-1]["content"])
        content = "nonsense"
        if match is not None:
            head, relation, tail = match.groups()
            fact = {"quote": match.group(), "head": head, "relation": relation, "tail": tail}
            said = {"quote": match.group(), "text": f"{match.group()}."}
            is_summary = "statements" in messages[0]["content"]
            found = {"title": "letter", "statements": [said]} if is_summary else {"facts": [fact]}
            content = json.dumps(found)
            time.sleep(SECONDS)
            self.asked.append(tail)
        return Response(
            f"{json.dumps({'model': 'small', 'message': {'content': content}, **ENDED})}\n"
        )


def _environment(model: Model) -> dict[str, str]:
    settings = {
        "PROVIDER": "ollama",
        "BASE_URL": model.url_for(""),
        "MODEL": "small",
        "CONCURRENCY": "2",
    }
    return {f"CLEW_LLM__{name}": value for name, value in settings.items()}


def _start(folder: Path, model: Model, kind: Enrichment = "extract") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", ENRICH, str(folder), kind],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **_environment(model)},
    )


def test_who_sees_failures_is_told_what_to_do(
    tmp_path: Path, in_process: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    letters = tmp_path / "letters"
    letters.mkdir()
    for name, text in (("good", "Ada Morn wrote letter 7."), ("bad", "Nobody wrote to Vell.")):
        (letters / f"{name}.txt").write_text(text, "utf-8")
    at = ("--store", str(tmp_path / "store"))
    with Model() as model:
        for name, value in _environment(model).items():
            monkeypatch.setenv(name, value)
        assert in_process("index", str(letters), *at).returncode == 0
        told = in_process("enrich", "--extract", *at)
        again = in_process("enrich", "--extract", "--retry", "--json", *at)
        same = in_process("enrich", "--extract", "--retry", "--json", *at)
        failures = in_process("stats", "--llm", "--failures", *at)
        done = in_process("enrich", "--extract", "--json", *at)

    (report,) = json.loads(again.stdout)["reports"]
    (rest,) = json.loads(done.stdout)["reports"]
    assert (told.returncode, again.returncode, done.returncode) == (1, 1, 0)
    (other,) = json.loads(same.stdout)["reports"]
    for name in ("failed", "requests", "cached"):
        assert other[name] == report[name]
    assert report["requests"] > 0
    for said in (told.stderr, report["next_step"]):
        assert "clew enrich --extract --retry" in said
        assert "clew stats --llm --failures" in said
    assert report["failed"][0]["reason"].startswith("malformed")
    assert "malformed" in failures.stdout
    assert (rest["next_step"], rest["failed"]) == ("", [])


def opened(folder: Path) -> clew.Clew:
    settings = load_settings(store=folder, split={"chunk_tokens": 24, "section_tokens": 48})
    return clew.open(settings=settings, embedder=HashEmbedder())


def added(store: clew.Clew) -> int:
    """What the model added: facts, and summaries."""
    rows = store.store.relations_by_id([int(i) for i in store.store.relation_rows().ids])
    summaries = [info.summary for info in store.documents.list() if info.summary]
    return sum(row.extractor == "model" for row in rows) + len(summaries)


@pytest.mark.parametrize("kind", ["extract", "documents"])
def test_killed_taken_back_then_completed(tmp_path: Path, kind: Enrichment) -> None:
    number_of = DOCUMENTS
    with opened(tmp_path) as store:
        for number in range(number_of):
            first = f"Ada Morn wrote letter {number} to Tobias Fenn in the mill of Vell one night."
            rest = "Nobody knows why she did so, and it rained on all the days that came after it."
            store.add(f"{first}\n\n{rest if kind == 'documents' else ''}", source=f"{number}")
    with Model() as model:
        process = _start(tmp_path, model, kind)
        with opened(tmp_path) as store:
            while not added(store):
                assert process.poll() is None
                time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=10)
        time.sleep(3 * SECONDS)
        with opened(tmp_path) as store:
            kept = store.maintenance.language_model()["requests"]
            assert added(store) == store.enriching.undo(kind) > 0
            assert added(store) == 0
            assert store.maintenance.check().problems == ()
        asked = len(model.asked)
        process = _start(tmp_path, model, kind)
        said, _ = process.communicate(timeout=60)
    assert int(said.split()[0]) == number_of
    assert len(model.asked) - asked == number_of - kept
    with opened(tmp_path) as store:
        assert added(store) == number_of
        assert store.enriching.undo(kind) == number_of
        assert added(store) == 0
        assert store.maintenance.check().problems == ()
