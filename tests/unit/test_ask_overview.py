"""Questions about a whole, and what else a strategy found: no single table or sentence answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import pytest

import clew
from clew.search.ask.prompt import answer_request
from clew.settings import LlmSettings, LlmTaskSettings
from clew.testing.fakes import HashEmbedder, ScriptedLanguageModel
from clew.types.results import DO_NOT_SAY, Answer, AnswerMode

NOTES = {
    "minutes.md": "# Minutes of 4 March 2025\n\nThe guild met in the granary on 4 March 2025. Greta"
    " Holm was elected chair. The guild will replace the north sluice.\n",
    "report.md": "# Annual report 2025\n\nIn June 2025 Arnfeld replaced the north sluice. In"
    " September 2025 Greta Holm opened a shop.\n\n## Money\n\nThe sluice cost 42,000 kroner.\n",
    "history.md": "# History\n\nJens Arp built the Lower Mill in 1794. The guild bought the Lower"
    " Mill in 1988. Greta Holm leads the guild.\n",
}
REPLY = json.dumps(
    {
        "statements": [
            {"quotes": [{"passage": 1, "words": "no such words"}], "statement": "Nothing at all."}
        ]
    }
)
NOTHING = json.dumps({"statements": []})
HAPPENED = "What happened here in 2025?"
THEMES = "What are the main themes?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Notes, and a table of far more rows of the same year."""
    folder = tmp_path_factory.mktemp("files")
    rows = [
        f"2025-{1 + n % 12:02}-{1 + n % 27:02},O-{1000 + n},{('Quay Books', 'Lind Bakery')[n % 2]}"
        for n in range(60)
    ]
    (folder / "orders.csv").write_text("\n".join(["date,order,customer", *rows]), "utf-8")
    for name, text in NOTES.items():
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.fixture(scope="module")
def store_folder(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("store")
    with clew.open(place, embedder=HashEmbedder()) as engine:
        engine.index([folder])
    return place


@pytest.fixture
def engine(store_folder: Path) -> Iterator[clew.Clew]:
    with clew.open(store_folder, embedder=HashEmbedder()) as engine:
        yield engine


@pytest.fixture
def fresh(store_folder: Path, tmp_path: Path) -> Path:
    """The store without the replies that other tests had: what is kept is not asked for again."""
    return copytree(store_folder, tmp_path / "store")


def documents(answer: Answer) -> set[str]:
    return {Path(source.source).name for source in answer.sources}


@pytest.mark.parametrize("replies", [None, [NOTHING], [REPLY], ["no JSON", "nor this"]])
@pytest.mark.parametrize("mode", ["one_shot", "global"])
@pytest.mark.parametrize("question", [HAPPENED, THEMES, "What are the main themes of 2025?"])
def test_a_question_about_a_whole_is_answered_by_more_than_one_table(
    fresh: Path, replies: list[str] | None, mode: AnswerMode, question: str
) -> None:
    model = None if replies is None else ScriptedLanguageModel(replies * 20)
    with clew.open(fresh, embedder=HashEmbedder(), language_model=model) as engine:
        answer = engine.ask(question, mode=mode)
    assert answer.answered
    assert DO_NOT_SAY not in answer.text
    assert len(documents(answer) - {"orders.csv"}) >= 2, "the notes are told of, too"
    rows = [s for s in answer.statements if "order: O-" in s.text]
    assert len(rows) <= len(answer.statements) / 2
    for statement in answer.statements:
        for quotation in statement.quotations:
            assert " ".join(quotation.text.split()) in " ".join(statement.text.split()) or (
                statement.text.endswith("…")
            )


def test_what_happened_is_told_in_order_of_time(engine: clew.Clew) -> None:
    first, *_ = engine.search(HAPPENED).hits
    assert first.confidence is not None
    hits = engine.search(HAPPENED, limit=4).hits
    assert len({hit.chunk.document_id for hit in hits}) == 3, "each document in turn"
    told = [s.text for s in engine.ask(HAPPENED).statements]
    months = ["January", "February", "March", "April", "May", "June", "July", "August"]
    months += ["September", "October", "November", "December"]
    places = [months.index(text.split()[0]) for text in told if text.split()[0] in months]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("strategy", "kind", "question"),
    [
        ("multi_hop", "path", "How are Jens Arp and Greta Holm connected?"),
        ("global", "report", THEMES),
        ("topic", "topic", "notes on the sluice"),
        ("temporal", "timeline", HAPPENED),
        ("hierarchical", "hierarchy", "Give an outline of the report"),
        ("local", "subgraph", "Tell me about Greta Holm"),
    ],
)
def test_the_model_reads_what_the_strategy_found(
    fresh: Path, strategy: str, kind: str, question: str
) -> None:
    model = ScriptedLanguageModel([NOTHING])
    with clew.open(fresh, embedder=HashEmbedder(), language_model=model) as engine:
        found = engine.search(question, strategy=strategy, context_passages=False)
        engine.ask(question, strategy=strategy)
    asked = model.asked[-1].messages[0].text
    parts = [part for part in found.context.parts if part.kind == kind]
    assert parts
    assert asked.count(f'kind="{kind}"') == len(parts)
    for part in parts:
        said = [line.removeprefix("> ") for line in part.text.split("\n")]
        assert all(line in asked for line in said if "<" not in line and "[" not in line)
    passages = asked.count("number=")
    assert passages == len(found.hits)
    assert 'kind="passage"' not in asked


def test_what_was_found_leaves_room_for_the_passages(engine: clew.Clew) -> None:
    found = engine.search(THEMES, strategy="global", max_tokens=50_000)
    parts = [replace(part, text=part.text * 20) for part in found.context.parts]
    settings = LlmSettings(context_tokens=2048, answer=LlmTaskSettings(max_output_tokens=512))
    asked = answer_request(THEMES, found.hits, settings, parts).messages[0].text
    assert "number=" in asked
    assert sum(map(len, re.findall(r"<document kind=.*?</document>", asked, re.DOTALL))) < 2500
