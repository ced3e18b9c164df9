"""The data sets that are learned from, and how much of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clew.plugins.evaluation.run import BeirDataset, is_beir, load_beir
from training.groups import digest

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence
    from pathlib import Path

    from clew.plugins.evaluation.run import Record
    from clew.types import Document

COPIES = 200
"""Questions of a family that are asked again of the merged and of the nameless store, at most."""
STRANGERS = 60
"""Questions of other families that a store is asked, at most."""
MOST_PASSAGES = 3_200
"""Of a data set; of a larger one, whole documents are left out."""
FOR_ANSWERS = 0.6
"""Share of these that documents with answers may take; the others only mislead."""


@dataclass(frozen=True, slots=True)
class Source:
    """A data set and its path below the folder of all of them."""

    name: str
    data: BeirDataset

    @property
    def family(self) -> str:
        """First part of the path: data sets of one kind."""
        return self.name.split("/", maxsplit=1)[0]


def read_sources(bench: Path) -> list[Source]:
    """Every BEIR folder below `bench`, by path, each with no more passages than learning needs."""
    folders = sorted(path for path in bench.rglob("*") if path.is_dir() and is_beir(path))
    return [
        Source(folder.relative_to(bench).as_posix(), cap(load_beir(folder))) for folder in folders
    ]


def cap(data: BeirDataset, most: int = MOST_PASSAGES) -> BeirDataset:
    """The data set with at most some `most` passages, and the questions that these answer whole.

    Which documents and questions stay follows from hashes of their names and words alone.
    """
    if data.passages <= most:
        return data
    documents = {document.source: document for document in data.documents}
    home = _homes(data)
    kept: set[str] = set()
    room = most
    for question in sorted(data.questions, key=lambda question: digest(question.text)):
        grades = data.qrels[question.id]
        new = {home[id_] for id_ in grades if grades[id_] > 0 and id_ in home} - kept
        size = sum(_passages(documents[source]) for source in new)
        if size <= room - most * (1 - FOR_ANSWERS):
            kept |= new
            room -= size
    for source in sorted(documents.keys() - kept, key=digest):
        size = _passages(documents[source])
        if size <= room:
            kept.add(source)
            room -= size
    questions = [q for q in data.questions if _answered(data.qrels[q.id], home, kept)]
    return replace(
        data,
        passages=most - room,
        documents=tuple(d for d in data.documents if d.source in kept),
        questions=tuple(questions),
        qrels={question.id: data.qrels[question.id] for question in questions},
    )


def _homes(data: BeirDataset) -> dict[str, str]:
    """The source of the document that holds each passage."""
    found = {id_: source for source, id_ in data.passage_of_source.items()}
    joined = (d for d in data.documents if d.source in data.joined_sources)
    return found | {piece.key: d.source for d in joined for piece in d.pieces}


def _passages(document: Document) -> int:
    return max(1, len(document.pieces))


def _answered(grades: Mapping[str, int], home: Mapping[str, str], kept: Container[str]) -> bool:
    return all(home.get(id_) in kept for id_, grade in grades.items() if grade > 0)


def copies(sources: Sequence[Source]) -> Iterator[Source]:
    """The data sets with the questions that are asked again."""
    for family in dict.fromkeys(source.family for source in sources):
        members = [source for source in sources if source.family == family]
        questions = [question for source in members for question in source.data.questions]
        kept = set(sorted(digest(question.text) for question in questions)[:COPIES])
        for source in members:
            again = tuple(q for q in source.data.questions if digest(q.text) in kept)
            yield replace(source, data=replace(source.data, questions=again))


def of_others(source: Source, sources: Sequence[Source]) -> list[tuple[Source, Record]]:
    """Questions of other families, which a store of the data set does not answer."""
    questions = [
        (other, question)
        for other in sources
        if other.family != source.family
        for question in other.data.questions
    ]
    return sorted(questions, key=lambda one: digest(source.name + one[1].text))[:STRANGERS]
