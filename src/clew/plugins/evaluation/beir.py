"""Read a data set in the BEIR layout.

A folder holds `corpus.jsonl` (`_id`, `title`, `text`, `metadata`), `queries.jsonl` (`_id`, `text`,
`metadata`) and `qrels/<split>.tsv` (`query-id`, `corpus-id`, `score`, with a heading line).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from clew.errors import InputError
from clew.types import Document, Metadata, Piece

CORPUS = "corpus.jsonl"
QUERIES = "queries.jsonl"


class Record(BaseModel):
    """One line of a file: a question, or a passage, which is what a question's gold names."""

    id: Annotated[str, Field(alias="_id", min_length=1)]
    title: str = ""
    text: str
    metadata: Metadata = {}

    @field_validator("metadata", mode="before")
    @classmethod
    def _without(cls, value: object) -> object:
        return value or {}

    @model_validator(mode="after")
    def _position(self) -> Self:
        position = self.metadata.get("position", 0)
        if self.part_of is not None and type(position) not in (int, float):
            raise ValueError(f"metadata 'position' {position!r} is no number")
        return self

    @property
    def type(self) -> str | None:
        """`metadata.type`, where there is one."""
        kind = self.metadata.get("type")
        return None if kind is None else str(kind)

    @property
    def part_of(self) -> str | None:
        """The document that several passages make up, each at its position."""
        whole = self.metadata.get("part_of")
        return None if whole is None or "position" not in self.metadata else str(whole)


@dataclass(frozen=True, kw_only=True, slots=True)
class BeirDataset:
    """A data set as the evaluation uses it."""

    name: str
    """Name of the folder."""
    passages: int
    documents: tuple[Document, ...]
    passage_of_source: Mapping[str, str]
    """Passage id by `Document.source`, for documents that are one passage."""
    joined_sources: frozenset[str]
    """`Document.source` of those made of several passages; the pieces' keys are passage ids."""
    questions: tuple[Record, ...]
    """Those with at least one passage judged above 0, in the order of the file."""
    qrels: Mapping[str, Mapping[str, int]]
    """Grade by passage id by question id, for `questions`."""
    unknown_questions: int
    """Judgements left out, because they name no question of `queries.jsonl`."""
    unknown_passages: int
    """Judgements that name no passage of the corpus; they stay in and count as not found."""
    digest: str
    """Hex SHA-256 of `queries.jsonl`."""

    def passage_of(self, source: str, key: str | None) -> str | None:
        """The passage that a chunk of that source and key belongs to; None for a stranger's."""
        if source in self.joined_sources:
            return key
        return self.passage_of_source.get(source)


def load_beir(folder: Path, *, split: str = "test") -> BeirDataset:
    """Read a BEIR folder whole.

    Raises `InputError` where the folder is not BEIR, a line is malformed or an id occurs twice, and
    where no question is left that has gold.
    """
    folder = folder.resolve()
    if not is_beir(folder):
        raise InputError(
            f"{str(folder)!r} is not a BEIR folder; expected {CORPUS}, {QUERIES} and "
            "qrels/<split>.tsv in it"
        )
    qrels_file = folder / "qrels" / f"{split}.tsv"
    if not qrels_file.is_file():
        found = ", ".join(sorted(path.stem for path in qrels_file.parent.glob("*.tsv")))
        raise InputError(f"no split {split!r} in {str(qrels_file.parent)!r}; splits found: {found}")
    passages, questions = _read_records(folder / CORPUS), _read_records(folder / QUERIES)
    judged = _read_qrels(qrels_file)
    qrels = {
        question: grades
        for question, grades in judged.items()
        if question in questions and any(grade > 0 for grade in grades.values())
    }
    if not qrels:
        raise InputError(
            f"no question of {str(folder / QUERIES)!r} has a passage judged above 0 in "
            f"{str(qrels_file)!r}; check that both use the same ids"
        )
    wholes, joined = _to_documents(folder.name, passages.values())
    return BeirDataset(
        name=folder.name,
        passages=len(passages),
        documents=tuple(d for d in (*wholes.values(), *joined) if d.text.strip()),
        passage_of_source={document.source: id_ for id_, document in wholes.items()},
        joined_sources=frozenset(document.source for document in joined),
        questions=tuple(question for id_, question in questions.items() if id_ in qrels),
        qrels=qrels,
        unknown_questions=sum(len(g) for id_, g in judged.items() if id_ not in questions),
        unknown_passages=sum(id_ not in passages for g in qrels.values() for id_ in g),
        digest=hashlib.sha256((folder / QUERIES).read_bytes()).hexdigest(),
    )


def is_beir(folder: Path) -> bool:
    """Whether the folder has the three parts of a BEIR data set."""
    files = (folder / CORPUS).is_file() and (folder / QUERIES).is_file()
    return files and any((folder / "qrels").glob("*.tsv"))


# --- the three files ---------------------------------------------------------------------


def _read_records(file: Path) -> dict[str, Record]:
    """The records by id, in the order of the file; blank lines are passed over."""
    records: dict[str, Record] = {}
    for number, line in _lines(file):
        try:
            record = Record.model_validate_json(line)
        except ValidationError as error:
            wrong = error.errors()[0]
            place = ".".join(map(str, wrong["loc"])) or "the line"
            expected = f"a JSON object that can be read; {place}: {wrong['msg']}"
            raise _malformed(file, number, wrong["input"], expected) from error
        if record.id in records:
            raise _malformed(file, number, record.id, "an _id that occurs once")
        records[record.id] = record
    return records


def _read_qrels(file: Path) -> dict[str, dict[str, int]]:
    """Grade by passage id by question id, all of the file."""
    judged: dict[str, dict[str, int]] = {}
    for number, line in _lines(file):
        fields = line.split("\t")
        if number == 1 and fields[-1].strip() == "score":
            continue
        if len(fields) != 3 or not fields[2].strip().lstrip("-").isdecimal():
            raise _malformed(file, number, line, "query-id, corpus-id and a whole-number score")
        judged.setdefault(fields[0], {})[fields[1]] = int(fields[2])
    return judged


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    """Each line that is not blank, with its number from 1."""
    try:
        with file.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, line.rstrip("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{str(file)!r} is not UTF-8 text ({error.reason}); convert it") from error
    except OSError as error:
        raise InputError(f"cannot read {str(file)!r}: {error.strerror}") from error


def _malformed(file: Path, number: int, given: object, expected: str) -> InputError:
    shown = repr(given) if len(repr(given)) <= 80 else f"{repr(given)[:77]}…"
    return InputError(f"{str(file)!r}, line {number}: got {shown}, expected {expected}")


# --- passages to documents ---------------------------------------------------------------


def _to_documents(
    name: str, passages: Iterable[Record]
) -> tuple[dict[str, Document], list[Document]]:
    """A document each by passage id, and the documents that several passages make up."""
    wholes: dict[str, Document] = {}
    groups: dict[str, list[Record]] = {}
    for passage in passages:
        if passage.part_of is None:
            # Some passages are a title alone: then that is what there is to find.
            text = passage.text if passage.text.strip() else passage.title
            wholes[passage.id] = Document(
                source=f"{name}/{CORPUS}#{passage.id}",
                origin=f"{name}/{CORPUS}",
                text=text,
                title=passage.title,
                sha256=_digest(passage.title, text, passage.metadata),
                created_at=_time(passage.metadata.get("created_at")),
                updated_at=_time(passage.metadata.get("updated_at")),
                metadata=passage.metadata,
            )
        else:
            groups.setdefault(passage.part_of, []).append(passage)
    joined = []
    for part_of, parts in groups.items():
        ordered = sorted(parts, key=lambda passage: passage.metadata["position"])
        starts = accumulate((len(passage.text) + 1 for passage in ordered), initial=0)
        pieces = [
            Piece(start=at, end=at + len(p.text), key=p.id, metadata=p.metadata)
            for p, at in zip(ordered, starts, strict=False)
        ]
        text = "\n".join(passage.text for passage in ordered)
        times = [_time(passage.metadata.get("created_at")) for passage in ordered]
        document = Document(
            # Set apart from a whole passage's source, whose _id might be the same word.
            source=f"{name}/{CORPUS}#part_of={part_of}",
            origin=f"{name}/{CORPUS}",
            text=text,
            title=ordered[0].title,
            sha256=_digest(ordered[0].title, text, [(p.key, p.metadata) for p in pieces]),
            created_at=min((time for time in times if time is not None), default=None),
            pieces=tuple(piece for piece in pieces if text[piece.start : piece.end].strip()),
        )
        joined.append(document)
    return wholes, joined


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode("utf-8")).hexdigest()


def _time(value: object) -> datetime | None:
    """An ISO 8601 time in UTC (one without a zone is taken for UTC); None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        return None
    return time.replace(tzinfo=time.tzinfo or UTC).astimezone(UTC)
