"""What Clew reads into its graph from the real documents, sentence by sentence, without a store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from clew.errors import ClewError
from clew.indexing.inputs import read_file
from clew.indexing.processes import Prepared, Steps
from clew.settings import Settings
from clew.testing.fakes import HashEmbedder
from clew.types import Document
from clew.wiring import make_extractor


@dataclass(frozen=True, slots=True)
class Name:
    """A name that the extractor found in a sentence."""

    surface: str
    """As the sentence has it."""
    name: str
    """As the extractor resolved it within the document."""
    entity_type: str


@dataclass(frozen=True, slots=True)
class Stated:
    """A relation that the extractor found in a sentence."""

    head: str
    relation: str
    tail: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a document, with what was found in it."""

    path: str
    """Of its document, below the folder."""
    text: str
    """Its white space collapsed."""
    names: tuple[Name, ...]
    relations: tuple[Stated, ...]


def read_folder(folder: Path) -> Iterator[tuple[str, Prepared]]:
    """(path below the folder, document read, split and extracted) of every file, in order."""
    steps = steps_of()
    for path, document in documents_of(folder):
        yield path, steps.prepare(document)


def steps_of() -> Steps:
    """The steps with the settings as they are, without a model."""
    settings = Settings()
    return Steps(
        tokens=HashEmbedder(),
        extractor=make_extractor(),
        split_settings=settings.split,
        limits=settings.limits,
    )


def documents_of(folder: Path) -> Iterator[tuple[str, Document]]:
    """(path below the folder, document read) of every file that can be read, in order."""
    settings = Settings().read
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        # What cannot be read is not what is measured here.
        with suppress(ClewError):
            for document in read_file(file, settings).documents:
                yield file.relative_to(folder).as_posix(), document


def sentences(path: str, prepared: Prepared) -> Iterator[Sentence]:
    """The sentences of a document."""
    for chunk, found in zip(prepared.split.chunks, prepared.extraction.chunks, strict=True):
        for ordinal, (start, end) in enumerate(found.sentences):
            yield Sentence(
                path=path,
                text=" ".join(chunk.text[start:end].split()),
                names=tuple(
                    Name(" ".join(chunk.text[m.start : m.end].split()), m.name, m.entity_type)
                    for m in found.mentions
                    if m.sentence == ordinal
                ),
                relations=tuple(
                    Stated(r.head, r.relation_type, r.tail)
                    for r in found.relations
                    # What fields and properties state is of no sentence.
                    if (r.sentence or 0) == ordinal
                ),
            )
