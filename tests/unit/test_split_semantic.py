from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from clew.indexing.splitting.split import mark_topics, split
from clew.indexing.splitting.units import Break, Unit
from clew.settings import SplitSettings
from clew.types import Document

if TYPE_CHECKING:
    from clew.types import Vectors

TOPICS = ("cheese", "rocket", "violin")


class TopicWords:
    """Embeds a text as its counts of the three topics' words."""

    max_tokens = 256

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        rows = np.array([[text.count(topic) + 0.01 for topic in TOPICS] for text in texts])
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def about(topic: str, count: int) -> str:
    return " ".join(f"The {topic} of day {i} was good." for i in range(count))


def test_chunks_end_where_the_topic_turns() -> None:
    text = " ".join(about(topic, 5) for topic in TOPICS)
    settings = SplitSettings(strategy="semantic", chunk_tokens=64, section_tokens=400)
    chunks = split(Document(source="s", text=text), settings, TopicWords()).chunks
    assert [c.text for c in chunks] == [about(topic, 5) for topic in TOPICS]


def test_recursive_fills_chunks_across_topics() -> None:
    text = " ".join(about(topic, 5) for topic in TOPICS)
    settings = SplitSettings(chunk_tokens=64, section_tokens=400)
    chunks = split(Document(source="s", text=text), settings, TopicWords()).chunks
    assert len(chunks) == 2


def units(text: str) -> list[Unit]:
    starts = [i for i in range(len(text)) if i == 0 or text[i - 1] == " "]
    return [Unit(s, s + text[s:].find("."), 1, Break.SENTENCE) for s in starts]


def test_even_text_and_few_sentences_have_no_turns() -> None:
    for count in (0, 1, 3):
        few = [Unit(i, i + 1, 1, Break.SENTENCE) for i in range(count)]
        assert mark_topics(few, "abc", TopicWords().embed_documents) == few
    text = "cheese. " * 10
    found = mark_topics(units(text.strip()), text, TopicWords().embed_documents)
    assert all(unit.strength is Break.SENTENCE for unit in found)


def test_headings_keep_their_strength() -> None:
    text = " ".join([about("cheese", 3), "# Heading", about("rocket", 3)])
    at = text.index("# Heading")
    sentences = [Unit(i, i + 5, 1, Break.SENTENCE) for i in range(0, at - 5, 10)]
    rest = [Unit(i, i + 5, 1, Break.SENTENCE) for i in range(at + 12, len(text) - 5, 10)]
    marked = mark_topics(
        [*sentences, Unit(at, at + 9, 2, Break.HEADING), *rest], text, TopicWords().embed_documents
    )
    assert [u.strength for u in marked if u.start == at] == [Break.HEADING]
