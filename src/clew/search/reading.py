"""The reader on the candidates of a search: each is read with the question and its thread.

What it says is weighed against the ranking by a few weights that were learned for its model and lie
beside it (`training/reader/weigh.py`): so it may overrule and be overruled.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from clew.search.question import compared_sides, question_form
from clew.text import is_english
from clew.types import FOUND, Unread

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from clew.graph.snapshot import Floats, Ints, Snapshot
    from clew.ports import Reader
    from clew.search.features import Evidence
    from clew.search.ranker import Ordered
    from clew.stores.store import Store
    from clew.types import PassageRecord, Reading, StoredChunk

READS = "en"
"""Language of the questions and passages that the reader has learned from."""
READ = 12
"""Best candidates that are read."""
LONGEST = 300
"""Characters of a sentence that leads to another passage."""
_NAME = re.compile(r"(?<=[\w,;:] )[A-Z]\w{2,}")
_BOUND = 12.0
"""Logits are cut here: beyond it nothing gets surer."""


def can_be_read(question: str) -> bool:
    """Return whether it is in the reader's language, and one passage may answer it.

    A comparison is answered by two passages, each of which says half.
    """
    return is_english(question) and not compared_sides(question)


@dataclass(frozen=True, slots=True)
class Read:
    """A question with its candidates, to be read."""

    question: str
    evidence: Evidence
    snapshot: Snapshot
    store: Store
    undated: bool = False
    """Whether only passages without a time are read: they say nothing against the others, which
    keep the order of the ranking."""

    def order(self, reader: Reader, found: Ordered, readings: dict[int, Reading]) -> Ordered:
        """Return the candidates as ranking and reader order them together.

        `readings`, by chunk id, are what was read before, and grow by what is read now. Mere words
        keep the order of the ranking: they tell the reader where an answer stands, but not which
        of many texts on their subject is meant.
        """
        read = [readings.get(id_) for id_ in self.read(reader, found, readings)]
        is_ranked = self.undated or question_form(self.question) == "keywords"
        return found if is_ranked else weigh(found, read, reader.weights)

    def read(self, reader: Reader, found: Ordered, readings: dict[int, Reading]) -> list[int]:
        """Add what the reader says of the best candidates that are in its language; return all.

        Where none of them surely answers by itself, or the ranking has found a second hop, they are
        read again, each behind the sentence that leads to it: that of a bridge, or of another
        candidate with a name of its own. Of a passage that is read twice it is what finds it more
        relevant. Spans are of documents.
        """
        rows = self.evidence.rows[found.order[:READ]]
        ids: list[int] = self.snapshot.chunk_ids[rows].tolist()
        bridges = bridge_sentences(self.evidence, self.snapshot, rows)
        homes = self.snapshot.sentence_chunk[bridges[bridges >= 0]]
        around = [*ids, *self.snapshot.chunk_ids[homes].tolist()]
        passages = self.store.passage_records(around).passages

        def learn(threads: Mapping[int, str], least: float = -np.inf) -> None:
            asked = [replace(alone[id_], thread=led) for id_, led in threads.items()]
            for id_, reading in zip(threads, reader.read(self.question, asked), strict=True):
                says_more = id_ not in readings or reading.relevance > readings[id_].relevance
                if says_more and reading.sureness > least:
                    start, end = (passages[id_].chunk.start + place for place in reading.span)
                    readings[id_] = replace(reading, span=(start, end))

        chunks = [
            passages[id_].chunk
            for id_ in ids
            if id_ in passages
            and id_ not in readings
            and not (self.undated and passages[id_].times)
        ]
        alone = {one.id: unread(one) for one in chunks if (one.language or READS) == READS}
        learn(dict.fromkeys(alone, ""))
        finds = any(readings[id_].sureness > FOUND for id_ in ids if id_ in readings)
        if found.second_hop or not finds:
            threads = {
                id_: led
                for id_, sentence in zip(ids, bridges.tolist(), strict=True)
                if id_ in alone and (led := said(self.snapshot, passages, sentence))
            }
            learn(threads)
            told = Told.by(passages.values())
            named = {
                id_: led
                for id_ in alone
                if id_ not in threads and (led := leading(self.question, passages[id_].chunk, told))
            }
            # A name ties less than an entity: it shows an answer, and says nothing of the order.
            learn(named, FOUND)
        return ids


def bridge_sentences(evidence: Evidence, snapshot: Snapshot, rows: Ints) -> Ints:
    """Return for each passage the sentence elsewhere that leads to it, as a row; -1: none does.

    It is the sentence of the bridge that ties the passage to the question best.
    """
    bridges = evidence.bridges
    home = snapshot.sentence_chunk[bridges.sentences]
    found = np.full(len(rows), -1)
    for place, row in enumerate(rows.tolist()):
        leads = np.isin(bridges.entities, snapshot.passage_entities.row(row)) & (home != row)
        if leads.any():
            found[place] = bridges.sentences[np.where(leads, bridges.scores, -1).argmax()]
    return found


@dataclass(frozen=True, slots=True)
class Told:
    """A sentence of a passage, with the title of its document."""

    document: str
    text: str
    names: set[str]
    words: set[str]

    @classmethod
    def by(cls, passages: Iterable[PassageRecord]) -> list[Self]:
        """Return all sentences that are short enough to lead to another passage."""
        return [
            cls(
                one.chunk.document_id,
                titled(sentence, one.chunk.title),
                inner_names(sentence),
                long_words(sentence),
            )
            for one in passages
            for sentence in one.sentences
            if len(sentence) < LONGEST
        ]


def leading(question: str, chunk: StoredChunk, told: Sequence[Told]) -> str:
    """Return the sentence that may lead from the question to a passage, where no entity does.

    It stands in another document, shares a name with the passage, and of these most words with the
    question; empty where none shares a name.
    """
    own, asked = inner_names(f"{chunk.title}. {chunk.text}"), long_words(question)
    leads = [one for one in told if one.document != chunk.document_id and own & one.names]
    return max(leads, key=lambda one: len(asked & one.words)).text if leads else ""


def inner_names(text: str) -> set[str]:
    """Return the words with a capital inside the sentences of a text."""
    return set(_NAME.findall(text))


def long_words(text: str) -> set[str]:
    """Return the words of at least four letters, in lower case."""
    return set(re.findall(r"\w{4,}", text.lower()))


def unread(chunk: StoredChunk) -> Unread:
    """Return a passage as the reader gets it; a title that opens the text is not read twice."""
    is_said = chunk.text.lstrip("# ").startswith(chunk.title)
    return Unread(text=chunk.text, title="" if is_said else chunk.title)


def said(snapshot: Snapshot, passages: Mapping[int, PassageRecord], sentence: int) -> str:
    """Return a sentence (a row) with the title of its document; empty where it is gone."""
    if sentence < 0:
        return ""
    home = int(snapshot.sentence_chunk[sentence])
    passage = passages.get(int(snapshot.chunk_ids[home]))
    place = sentence - int(snapshot.sentence_starts[home]) - 1
    if passage is None or not 0 <= place < len(passage.sentences):
        return ""
    return titled(passage.sentences[place], passage.chunk.title)


def titled(sentence: str, title: str) -> str:
    """Return a sentence with the title of its document, unless it says that itself."""
    return sentence if title.lower() in sentence.lower() else f"{title}: {sentence}"


def weigh(
    found: Ordered, readings: Sequence[Reading | None], weights: Mapping[str, Sequence[float]]
) -> Ordered:
    """Return the candidates in the order of ranking and readings together.

    Args:
        found: The ranking.
        readings: Of its best candidates, in order; None for what was not read.
        weights: `order`: of the columns `ORDER` of `signs`; `confidence`: a constant, then of
            the columns `SURE`.
    """
    if not any(readings):
        return found
    best, rest = found.order[: len(readings)], found.order[len(readings) :]
    columns = signs(found, readings)
    values = columns[:, ORDER] @ np.array(weights["order"])
    constant, *others = weights["confidence"]
    sure = _probabilities(constant + columns[:, SURE] @ np.array(others))
    confidences = found.confidences.copy()
    confidences[best] = sure
    # What was not read is no surer than the least sure of what was.
    confidences[rest] = np.minimum(confidences[rest], sure.min())
    order = np.argsort(-values, kind="stable")
    scores = found.scores.copy()
    scores[: len(readings)] = _probabilities(values[order])
    return replace(
        found,
        order=np.concatenate([best[order], rest]),
        scores=np.minimum.accumulate(scores),
        confidences=confidences,
    )


ORDER, SURE = [0, 2, 3], [1, 2, 3]
"""Columns of `signs` that decide the order, and how sure a passage is."""


def signs(found: Ordered, readings: Sequence[Reading | None]) -> Floats:
    """Return (read, 4): what ranking and reader say of the best candidates, all as logits.

    The ranking's score and confidence, then the reader's relevance and margin.
    """
    best = found.order[: len(readings)]
    known = [(one.relevance, one.margin) for one in readings if one is not None]
    # Nothing is known against what could not be read.
    usual = tuple(np.mean(known, axis=0)) if known else (0.0, 0.0)
    read = np.array([(one.relevance, one.margin) if one else usual for one in readings])
    ranked = np.column_stack([found.scores[: len(readings)], found.confidences[best]])
    columns: Floats = np.column_stack([_logits(ranked), read.clip(-_BOUND, _BOUND)])
    return columns


def _logits(shares: Floats) -> Floats:
    held = np.clip(shares.astype(np.float64), 1e-5, 1 - 1e-5)
    logits: Floats = np.log(held / (1 - held))
    return logits


def _probabilities(logits: Floats) -> Floats:
    probabilities: Floats = (1 / (1 + np.exp(-np.clip(logits, -30, 30)))).astype(np.float32)
    return probabilities
