"""Real sentences in six scripts are indexed and found, by their entities and by their words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import clew
from clew.testing.fakes import HashEmbedder

TEXTS = {
    "latin": "Élodie Gagné wrote the letters of Montréal. They were printed in 1931.",
    "cyrillic": "Лев Толстой родился в Ясной Поляне. Роман «Война и мир» написал Лев Толстой.",
    "greek": "Ο Νίκος Καζαντζάκης γεννήθηκε στο Ηράκλειο. Έγραψε τον «Αλέξη Ζορμπά».",
    "chinese": "《红楼梦》的作者是曹雪芹。曹雪芹出生于南京。",
    "japanese": "夏目漱石は「坊っちゃん」を書いた。夏目漱石は東京で生まれた。",
    "arabic": "ولد نجيب محفوظ في القاهرة. كتب نجيب محفوظ رواية «بين القصرين».",
}
QUESTIONS = {
    "latin": ("Where did Elodie Gagne write?", "Élodie Gagné"),
    "cyrillic": ("Где родился Лев Толстой?", "Лев Толстой"),
    "greek": ("Πού γεννήθηκε ο Νίκος Καζαντζάκης;", "Νίκος Καζαντζάκης"),
    "chinese": ("曹雪芹出生在哪里？", "曹雪芹"),
    "japanese": ("夏目漱石はどこで生まれましたか。", "夏目漱石"),
    "arabic": ("أين ولد نجيب محفوظ؟", "نجيب محفوظ"),
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clew.Clew]:
    with clew.open(tmp_path_factory.mktemp("store"), embedder=HashEmbedder()) as engine:
        for script, text in TEXTS.items():
            engine.add(text, source=script)
        yield engine


@pytest.mark.parametrize("script", TEXTS)
@pytest.mark.parametrize("strategy", ["keyword", "hybrid", "graph"])
def test_the_passage_is_found(engine: clew.Clew, script: str, strategy: str) -> None:
    question, _ = QUESTIONS[script]
    assert engine.search(question, strategy=strategy).hits[0].chunk.source == script


@pytest.mark.parametrize("script", TEXTS)
def test_the_entity_is_known_and_asked_for(engine: clew.Clew, script: str) -> None:
    question, name = QUESTIONS[script]
    assert engine.entities.get(name).mentions >= 1
    assert name in engine.search(question).entities


def test_the_store_is_sound(engine: clew.Clew) -> None:
    assert engine.maintenance.check().problems == ()
