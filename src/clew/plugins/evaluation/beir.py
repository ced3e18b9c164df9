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
from typing import Any

from clew.errors import InputError
from clew.types import Document, Metadata, Piece

CORPUS = "corpus.jsonl"
QUERIES = "queries.jsonl"


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """One line of the corpus: what a question's gold names."""

    id: str
    title: str
    text: str
    metadata: Metadata


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """One question that has gold."""

    id: str
    text: str
    type: str | None
    """`metadata.type`, where there is one."""


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
    questions: tuple[Question, ...]
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
    qrels_file = _find_qrels(folder, split)
    passages = _read_corpus(folder / CORPUS)
    questions = _read_questions(folder / QUERIES)
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
    return (
        (folder / CORPUS).is_file()
        and (folder / QUERIES).is_file()
        and any((folder / "qrels").glob("*.tsv"))
    )


def _find_qrels(folder: Path, split: str) -> Path:
    if not is_beir(folder):
        raise InputError(
            f"{str(folder)!r} is not a BEIR folder; expected {CORPUS}, {QUERIES} and "
            "qrels/<split>.tsv in it"
        )
    file = folder / "qrels" / f"{split}.tsv"
    if not file.is_file():
        found = ", ".join(sorted(path.stem for path in file.parent.glob("*.tsv")))
        raise InputError(f"no split {split!r} in {str(file.parent)!r}; splits found: {found}")
    return file


# --- the three files ---------------------------------------------------------------------


def _read_corpus(file: Path) -> dict[str, Passage]:
    passages: dict[str, Passage] = {}
    for number, record in _read_records(file):
        id_ = _new_id(file, number, record, passages)
        passages[id_] = Passage(
            id=id_,
            title=_text(file, number, record, "title", default=""),
            text=_text(file, number, record, "text"),
            metadata=_metadata(file, number, record),
        )
        _check_piece(file, number, passages[id_])
    return passages


def _read_questions(file: Path) -> dict[str, Question]:
    questions: dict[str, Question] = {}
    for number, record in _read_records(file):
        id_ = _new_id(file, number, record, questions)
        kind = _metadata(file, number, record).get("type")
        questions[id_] = Question(
            id=id_,
            text=_text(file, number, record, "text"),
            type=None if kind is None else str(kind),
        )
    return questions


def _read_qrels(file: Path) -> dict[str, dict[str, int]]:
    """Grade by passage id by question id, all of the file."""
    judged: dict[str, dict[str, int]] = {}
    for number, line in enumerate(_lines(file), start=1):
        fields = line.split("\t")
        if not line.strip() or (number == 1 and fields[-1].strip() == "score"):
            continue
        if len(fields) != 3 or not fields[2].strip().lstrip("-").isdecimal():
            raise _malformed(file, number, line, "query-id, corpus-id and a whole-number score")
        judged.setdefault(fields[0], {})[fields[1]] = int(fields[2])
    return judged


def _read_records(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line number (from 1) and object of each line that is not blank."""
    for number, line in enumerate(_lines(file), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise _malformed(file, number, line, "a JSON object") from error
        if not isinstance(record, dict):
            raise _malformed(file, number, line, "a JSON object")
        yield number, record


def _lines(file: Path) -> Iterator[str]:
    try:
        with file.open(encoding="utf-8-sig") as lines:
            yield from (line.rstrip("\n") for line in lines)
    except UnicodeDecodeError as error:
        raise InputError(f"{str(file)!r} is not UTF-8 text ({error.reason}); convert it") from error
    except OSError as error:
        raise InputError(f"cannot read {str(file)!r}: {error.strerror}") from error


def _new_id(file: Path, number: int, record: dict[str, Any], known: Mapping[str, object]) -> str:
    id_ = _text(file, number, record, "_id")
    if not id_ or id_ in known:
        raise _malformed(file, number, id_, "an _id that is not blank and occurs once")
    return id_


def _text(
    file: Path, number: int, record: dict[str, Any], name: str, *, default: str | None = None
) -> str:
    value = record.get(name, default)
    if not isinstance(value, str):
        raise _malformed(file, number, value, f"a string under {name!r}")
    return value


def _metadata(file: Path, number: int, record: dict[str, Any]) -> dict[str, Any]:
    value = record.get("metadata") or {}
    if not isinstance(value, dict):
        raise _malformed(file, number, value, "an object under 'metadata'")
    return value


def _check_piece(file: Path, number: int, passage: Passage) -> None:
    position = passage.metadata.get("position", 0)
    if _is_piece(passage) and (isinstance(position, bool) or not isinstance(position, int | float)):
        raise _malformed(file, number, position, "a number under metadata 'position'")


def _malformed(file: Path, number: int, given: object, expected: str) -> InputError:
    shown = repr(given) if len(repr(given)) <= 80 else f"{repr(given)[:77]}…"
    return InputError(f"{str(file)!r}, line {number}: got {shown}, expected {expected}")


# --- passages to documents ---------------------------------------------------------------


def _is_piece(passage: Passage) -> bool:
    return passage.metadata.get("part_of") is not None and "position" in passage.metadata


def _to_documents(
    name: str, passages: Iterable[Passage]
) -> tuple[dict[str, Document], list[Document]]:
    """A document each by passage id, and the documents that several passages make up."""
    wholes: dict[str, Document] = {}
    groups: dict[str, list[Passage]] = {}
    for passage in passages:
        if _is_piece(passage):
            groups.setdefault(str(passage.metadata["part_of"]), []).append(passage)
        else:
            wholes[passage.id] = _whole_document(name, passage)
    return wholes, [_joined_document(name, part_of, parts) for part_of, parts in groups.items()]


def _whole_document(name: str, passage: Passage) -> Document:
    # Some collections have passages that are a title alone: then that is what there is to find.
    text = passage.text if passage.text.strip() else passage.title
    return Document(
        source=f"{name}/{CORPUS}#{passage.id}",
        origin=f"{name}/{CORPUS}",
        text=text,
        title=passage.title,
        sha256=_digest(passage.title, text, passage.metadata),
        created_at=_time(passage.metadata.get("created_at")),
        updated_at=_time(passage.metadata.get("updated_at")),
        metadata=passage.metadata,
    )


def _joined_document(name: str, part_of: str, passages: list[Passage]) -> Document:
    ordered = sorted(passages, key=lambda passage: passage.metadata["position"])
    starts = accumulate((len(passage.text) + 1 for passage in ordered), initial=0)
    pieces = [
        Piece(start=at, end=at + len(p.text), key=p.id, metadata=p.metadata)
        for p, at in zip(ordered, starts, strict=False)
    ]
    text = "\n".join(passage.text for passage in ordered)
    times = [_time(passage.metadata.get("created_at")) for passage in ordered]
    return Document(
        # Set apart from a whole passage's source, whose _id might be the same word.
        source=f"{name}/{CORPUS}#part_of={part_of}",
        origin=f"{name}/{CORPUS}",
        text=text,
        title=ordered[0].title,
        sha256=_digest(ordered[0].title, text, [(p.key, p.metadata) for p in pieces]),
        created_at=min((time for time in times if time is not None), default=None),
        pieces=tuple(piece for piece in pieces if text[piece.start : piece.end].strip()),
    )


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
