"""Earlier versions of changed documents, asked by `as_of`, as a user of the library meets them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import clew
from clew.errors import NotFoundError
from clew.search.strategies import EVERYWHERE, STRATEGIES
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder
from clew.types import Hit

WITH_EARLIER = {name for name, line in STRATEGIES.items() if line.finds in EVERYWHERE}

OTHERS = [
    "The canteen of Vell opens at noon and serves soup.",
    "Piet Oss keeps the keys of the archive in Lisse.",
    "Bicycles are left behind the mill of Vell.",
]
NOTICE = "Notice period: an employee of Vell gives two weeks of notice."
NOW = "Notice period: an employee of Vell gives four weeks of notice."
QUESTION = "How many weeks of notice does an employee of Vell give?"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[clew.Clew]:
    with clew.open(tmp_path / "store", embedder=HashEmbedder()) as engine:
        for number, text in enumerate(OTHERS):
            engine.add(text, source=f"other-{number}")
        yield engine


def replace_notice(engine: clew.Clew, *texts: str) -> datetime:
    """Store texts of one document one after the other; a moment when the first one stood."""
    engine.add(texts[0], source="notice", title="Notice")
    stood = engine.documents.get("notice").indexed_at
    for text in texts[1:]:
        engine.add(text, source="notice", title="Notice")
    return stood


def earlier(hits: tuple[Hit, ...]) -> list[str]:
    return [hit.chunk.text for hit in hits if hit.chunk.version]


@pytest.mark.parametrize("strategy", [*sorted(WITH_EARLIER), "auto"])
def test_the_text_that_stood_then_is_found_first(engine: clew.Clew, strategy: str) -> None:
    stood = replace_notice(engine, NOTICE, NOW)
    then = engine.search(QUESTION, strategy=strategy, as_of=stood)
    assert then.hits[0].chunk.text == NOTICE
    assert NOW not in [hit.chunk.text for hit in then.hits]
    assert earlier(engine.search(QUESTION, strategy=strategy).hits) == []
    assert earlier(engine.search(QUESTION, strategy=strategy, as_of="tomorrow").hits) == []


@pytest.mark.parametrize("strategy", sorted(set(STRATEGIES) - WITH_EARLIER))
def test_overviews_may_be_asked_of_then_too(engine: clew.Clew, strategy: str) -> None:
    stood = replace_notice(engine, NOTICE, NOW)
    found = engine.search(QUESTION, strategy=strategy, as_of=stood)
    assert NOW not in [hit.chunk.text for hit in found.hits]


def test_a_hit_says_of_which_version_it_is_and_until_when(engine: clew.Clew) -> None:
    stood = replace_notice(engine, NOTICE, NOW)
    result = engine.search(QUESTION, as_of=stood)
    _, second = engine.documents.versions("notice")
    shown = result.to_dict()["results"][0]
    assert second.replaced_at is None
    assert shown["id"] == f"{first_id(engine)}@1#0"
    assert shown["metadata"]["version"] == shown["provenance"]["version"] == 1
    assert shown["metadata"]["replaced_at"] == second.indexed_at.isoformat()
    assert f"Notice (version 1, replaced {second.indexed_at:%Y-%m-%d})" in result.context.text
    assert {"vector", "keyword"} <= set(shown["scores"])
    assert engine.documents.text(shown["id"]) == NOTICE
    fetched = engine.tools.call("fetch", {"id": shown["id"]})
    assert fetched.content["text"] == NOTICE
    assert all("version" not in hit["metadata"] for hit in result.to_dict()["results"][1:])


def first_id(engine: clew.Clew) -> str:
    return engine.documents.get("notice").id


def test_of_several_versions_each_has_its_time(engine: clew.Clew) -> None:
    texts = [f"Notice period: an employee of Vell gives {n} weeks." for n in ("two", "six", "ten")]
    replace_notice(engine, *texts)
    for version in engine.documents.versions("notice"):
        found = engine.search(QUESTION, as_of=version.indexed_at)
        assert found.hits[0].chunk.text == texts[version.version - 1]


def test_filters_hold_for_earlier_texts(engine: clew.Clew) -> None:
    engine.add(NOTICE, source="notice", metadata={"team": "red"})
    stood = engine.documents.get("notice").indexed_at
    engine.add(NOW, source="notice", metadata={"team": "blue"})

    def found(*where: str) -> list[str]:
        return earlier(engine.search(QUESTION, as_of=stood, where=where).hits)

    assert found("team=red") == found("source=notice") == [NOTICE]
    assert found("team=blue") == found("source=other-0") == []
    assert earlier(engine.search(QUESTION, as_of=stood, since="2020").hits) == []


def test_dated_texts_are_told_apart_by_their_dates(engine: clew.Clew) -> None:
    engine.add(NOTICE, source="notice", metadata={"date": "2019-05-01"})
    engine.add(NOW, source="notice", metadata={"date": "2022-05-01"})
    assert engine.search(QUESTION, as_of="2020").hits[0].chunk.text == NOTICE
    assert engine.search(QUESTION, as_of="2023").hits[0].chunk.text == NOW
    within = engine.search(QUESTION, as_of="2020", since="2019", until="2019")
    assert [hit.chunk.text for hit in within.hits] == [NOTICE]


def test_what_is_not_kept_is_not_found(tmp_path: Path) -> None:
    settings = load_settings(store=tmp_path / "store", versions={"keep": 1})
    with clew.open(settings=settings, embedder=HashEmbedder()) as engine:
        stood = replace_notice(engine, NOTICE, "Another text.", NOW)
        assert earlier(engine.search(QUESTION, as_of=stood).hits) == []
        assert [v.is_kept for v in engine.documents.versions("notice")] == [False, True, True]
        assert engine.documents.earlier_text("notice", 2) == "Another text."
        with pytest.raises(NotFoundError, match=r"version 1 .* is not kept; there are 2, 3"):
            engine.documents.earlier_text("notice", 1)
        engine.documents.delete(["notice"])
        assert earlier(engine.search(QUESTION, as_of=stood).hits) == []
        assert engine.maintenance.check().problems == ()


def test_a_namespace_does_not_see_anothers_versions(tmp_path: Path) -> None:
    stood = datetime.now(UTC) + timedelta(seconds=1)
    for name, texts in (("ann", (NOTICE, NOW)), ("bo", (NOW,))):
        settings = load_settings(store=tmp_path, namespace=name)
        with clew.open(settings=settings, embedder=HashEmbedder()) as engine:
            stood = min(stood, replace_notice(engine, *texts))
    settings = load_settings(store=tmp_path, namespace="bo")
    with clew.open(settings=settings, embedder=HashEmbedder()) as engine:
        assert earlier(engine.search(QUESTION, as_of=stood).hits) == []


def test_the_tool_gives_earlier_texts(engine: clew.Clew) -> None:
    replace_notice(engine, NOTICE, NOW)
    found = engine.tools.call("get_document", {"document": "notice", "version": 1}).content
    assert (found["text"], found["version"]) == (NOTICE, 1)
    assert [v["version"] for v in found["versions"]] == [2, 1]
    assert engine.tools.call("get_document", {"document": "notice"}).content["text"] == NOW


def test_an_earlier_text_of_another_model_is_found_by_words(tmp_path: Path) -> None:
    with clew.open(tmp_path / "store", embedder=HashEmbedder()) as engine:
        stood = replace_notice(engine, NOTICE, NOW)
    with clew.open(tmp_path / "store", embedder=HashEmbedder(48)) as engine:
        engine.maintenance.reindex()
        result = engine.search(QUESTION, as_of=stood)
        assert result.hits[0].chunk.text == NOTICE
        assert any("found by words alone" in note for note in result.notes)
        assert engine.maintenance.check().problems == ()
