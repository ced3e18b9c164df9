"""Ask every question of a data set by every strategy, and measure what comes back."""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import accumulate
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar

import numpy as np
from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

import clew
from clew.errors import InputError, extra_for
from clew.search.options import RAG_TYPES
from clew.types import Document, Hit, Metadata, Piece, SearchResult

if TYPE_CHECKING:
    from rich.table import Table

    from clew.settings import Settings
    from clew.stores.backend import Progress

# Read a data set in the BEIR layout.
#
# A folder holds `corpus.jsonl` (`_id`, `title`, `text`, `metadata`), `queries.jsonl` (`_id`,
# `text`, `metadata`) and `qrels/<split>.tsv` (`query-id`, `corpus-id`, `score`, with a heading
# line).


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


LEARNED = frozenset({"graph", "multi_hop", "temporal", "local", "drift", "auto"})
"""Strategies that rank by what was learned."""
DEFAULT_KS = (2, 5, 10, 20)
NDCG_DEPTH, ALL_DEPTH = 10, 5
FAILURES_DEPTH = 20
"""Passages among which a gold one must be to count as found, for kinds of retrieval."""

# Several chunks of one passage count once, so more hits are asked for than passages are needed.
_HITS_PER_PASSAGE = 3
T = TypeVar("T")


def evaluate(
    folder: Path,
    *,
    strategies: Sequence[str],
    ks: Sequence[int] = DEFAULT_KS,
    store: Path | str | None,
    settings: Settings,
    split: str = "test",
    rag_types: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Index a BEIR folder, ask its questions by each strategy, and measure.

    With `rag_types`, by each kind of retrieval in place of a strategy; see `measure_rag_type`.

    Indexes into `store`, or into a temporary one. The answer has the keys `dataset`, `passages`,
    `questions` (those with gold), `index_seconds` (`total`, `embedding`) and `rows`, one a
    strategy; see `measure_strategy`. `trained_on` is there, and true, where a strategy that learned
    was measured on a set that the shipped ranker was trained on; `unknown_judgements` where qrels
    name ids that the set does not hold; `skipped`, where there were any, counts documents that were
    not indexed.

    Raises `InputError` for a folder that is not BEIR, `MissingExtraError` without `clew[eval]`.
    """
    if not strategies and not rag_types:
        raise InputError("no strategy given; name at least one, such as 'graph'")
    if not ks or min(ks) < 1:
        raise InputError(f"ks must be one or more ranks of at least 1, not {tuple(ks)!r}")
    dataset = load_beir(folder, split=split)
    with store_folder(store) as place, clew.open(store=place, settings=settings) as engine:
        indexed = engine.add_documents(dataset.documents, progress=progress)
        if rag_types:
            strategies, measure = tuple(RAG_TYPES), measure_rag_type
        else:
            measure = partial(measure_strategy, ks=ks)
        rows = [measure(engine, dataset, name, progress=progress) for name in strategies]
    report: dict[str, Any] = {
        "dataset": dataset.name,
        "passages": dataset.passages,
        "questions": len(dataset.questions),
        "index_seconds": {"total": indexed.seconds, "embedding": indexed.embedding_seconds},
        "rows": rows,
    }
    if indexed.skipped:
        report["skipped"] = len(indexed.skipped)
    unknown = {"questions": dataset.unknown_questions, "passages": dataset.unknown_passages}
    if any(unknown.values()):
        report["unknown_judgements"] = unknown
    if not LEARNED.isdisjoint(strategies):
        from clew.search.ranker import shipped

        if dataset.digest in shipped().trained_on:
            report["trained_on"] = True
    return report


def measure_strategy(
    engine: Any,  # noqa: ANN401 - an engine, or whatever searches
    dataset: BeirDataset,
    strategy: str,
    ks: Sequence[int] = DEFAULT_KS,
    *,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """One row of the report: each measure (0 to 1) by name, `query_ms`, `by_type`.

    `query_ms` is the wall time of a search in milliseconds (`p50`, `p95`), after one question that
    is not counted. `by_type` has, by `metadata.type`, the number of `questions` and each measure;
    it is empty where questions have no type. The reciprocal rank is taken over the first
    max(ks, 10) passages.
    """
    depth = max(*ks, NDCG_DEPTH, ALL_DEPTH)
    ask = partial(engine.search, strategy=strategy, limit=_HITS_PER_PASSAGE * depth)

    def read(found: SearchResult) -> list[str]:
        return rank_passages(found.hits, dataset)[:depth]

    rankings, query_ms = _asked(dataset, strategy, ask, read, progress)
    scores = score_rankings(rankings, dataset.qrels, ks)
    groups: dict[str, list[Mapping[str, float]]] = {}
    for question in dataset.questions:
        if question.type is not None:
            groups.setdefault(question.type, []).append(scores[question.id])
    by_type = {
        kind: {"questions": len(rows), **mean_scores(rows)} for kind, rows in sorted(groups.items())
    }
    means = mean_scores(scores.values())
    return {"strategy": strategy, **means, "query_ms": query_ms, "by_type": by_type}


def measure_rag_type(
    engine: Any,  # noqa: ANN401 - as in `measure_strategy`
    dataset: BeirDataset,
    rag_type: str,
    *,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """One row of the report of kinds of retrieval: each as its callers get it.

    `failures@20` (0 to 1) is the share of gold passages that are not among the first 20,
    `context_tokens` the mean size of the context, `query_ms` as in `measure_strategy`.
    """
    ask = partial(engine.search, rag_type=rag_type)
    tokens, query_ms = _asked(dataset, rag_type, ask, lambda found: found.context.tokens, progress)
    missed: list[float] = []
    for question in dataset.questions:
        deep = ask(question.text, limit=_HITS_PER_PASSAGE * FAILURES_DEPTH)
        found = rank_passages(deep.hits, dataset)[:FAILURES_DEPTH]
        gold = gold_of(dataset, question.id)
        missed.append(len(gold.difference(found)) / len(gold))
    return {
        "strategy": rag_type,
        f"failures@{FAILURES_DEPTH}": fmean(missed),
        "context_tokens": fmean(tokens.values()),
        "query_ms": query_ms,
        "by_type": {},
    }


def _asked(
    dataset: BeirDataset,
    name: str,
    ask: Callable[[str], SearchResult],
    read: Callable[[SearchResult], T],
    progress: Progress | None,
) -> tuple[dict[str, T], dict[str, float]]:
    """What is read of each question's result, by its id, and what asking took."""
    ask(dataset.questions[0].text)
    found, milliseconds = {}, []
    for done, question in enumerate(dataset.questions, start=1):
        began = time.perf_counter()
        result = ask(question.text)
        milliseconds.append(1000 * (time.perf_counter() - began))
        found[question.id] = read(result)
        if progress is not None:
            progress(name, done, len(dataset.questions))
    return found, percentiles(milliseconds)


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """The median and the 95th percentile; 0 of nothing."""
    p50, p95 = np.percentile(values, [50, 95]).tolist() if values else (0.0, 0.0)
    return {"p50": p50, "p95": p95}


def rank_passages(hits: Iterable[Hit], dataset: BeirDataset) -> list[str]:
    """Passage ids in the order of the hits, each at the place of its best hit.

    Hits on documents that are not of the data set (a store may hold others) are left out.
    """
    found = (dataset.passage_of(hit.chunk.source, hit.chunk.key) for hit in hits)
    return list(dict.fromkeys(passage for passage in found if passage is not None))


def gold_of(dataset: BeirDataset, question: str) -> set[str]:
    """Ids of the passages that answer a question, by its id."""
    return {passage for passage, grade in dataset.qrels[question].items() if grade > 0}


def store_folder(store: Path | str | None) -> AbstractContextManager[Path | str]:
    """Where to index: the place given, or a temporary one."""
    return tempfile.TemporaryDirectory(prefix="clew-eval-") if store is None else nullcontext(store)


# Retrieval measures for one question and their means over many, 0 to 1, higher is better.


def score_rankings(
    rankings: Mapping[str, Sequence[str]],
    qrels: Mapping[str, Mapping[str, int]],
    ks: Sequence[int],
) -> dict[str, dict[str, float]]:
    """`recall@k`, `all@5`, `ndcg@10` and `mrr` by question id, by ir-measures but for `all@5`.

    `rankings` holds passage ids, best first and each once, by question id. `qrels` holds grades by
    passage id; those above 0 are gold, and nDCG takes them as gains. Each question of `rankings`
    must have gold. `all@5` is 1 where all gold is among the first five, the reciprocal rank is 0
    where no gold is in the ranking.

    Raises `MissingExtraError` where ir-measures is not installed.
    """
    with extra_for("evaluation"):
        import ir_measures
    all_gold, ndcg = f"all@{ALL_DEPTH}", f"ndcg@{NDCG_DEPTH}"
    names = {ir_measures.R @ k: f"recall@{k}" for k in ks}
    measures = {**names, ir_measures.nDCG @ NDCG_DEPTH: ndcg, ir_measures.RR: "mrr"}
    ordered = (*names.values(), all_gold, ndcg, "mrr")
    scores = {question: dict.fromkeys(ordered, 0.0) for question in rankings}
    judged = {question: dict(qrels[question]) for question in rankings}
    # The library sorts by score and breaks ties by id, so each rank gets a score of its own.
    run = {
        question: {passage: float(-rank) for rank, passage in enumerate(ranking)}
        for question, ranking in rankings.items()
    }
    for value in ir_measures.iter_calc(list(measures), judged, run):
        scores[value.query_id][measures[value.measure]] = float(value.value)
    for question, ranking in rankings.items():
        gold = {passage for passage, grade in qrels[question].items() if grade > 0}
        scores[question][all_gold] = float(gold <= set(ranking[:ALL_DEPTH]))
    return scores


def mean_scores(scores: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Mean of each measure over questions (at least one), names in the order of the first."""
    rows = list(scores)
    return {name: fmean(row[name] for row in rows) for name in rows[0]}


# Show what `evaluate` answers, side by side on a terminal.


# Keys of a row that are not measures.
_OTHER = frozenset({"strategy", "questions", "query_ms", "by_type"})


def to_table(report: Mapping[str, Any]) -> Table:
    """One folder's report: each strategy and under it its question types; measures in per cent."""
    from rich.table import Table

    seconds = report["index_seconds"]
    title = (
        f"{report['dataset']}: {report['passages']:,} passages, {report['questions']:,} questions, "
        f"indexed in {seconds['total']:.1f} s ({seconds['embedding']:.1f} s of it embedding)"
    )
    table = Table(title=title, caption=" ".join(notes(report)), title_justify="left")
    table.add_column("strategy", no_wrap=True)
    names = [name for name in report["rows"][0] if name not in _OTHER]
    for name in (*names, "p50 ms", "p95 ms"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in report["rows"]:
        times = [f"{row['query_ms'][name]:.1f}" for name in ("p50", "p95")]
        table.add_row(row["strategy"], *_percent(row, names), *times)
        for kind, means in row["by_type"].items():
            table.add_row(f"- {kind} ({means['questions']})", *_percent(means, names))
    return table


def notes(report: Mapping[str, Any]) -> list[str]:
    """What a reader should know before comparing the figures, as sentences."""
    unknown = report.get("unknown_judgements", {})
    said = {
        "The ranker of `graph` was trained on this set: its row shows the fit.": "trained_on",
        "{} documents could not be indexed.": "skipped",
        "{} judgements name unknown questions (left out).": "questions",
        "{} judgements name unknown passages (never found).": "passages",
    }
    counts = {name: report.get(name) for name in ("trained_on", "skipped")}
    counts |= {name: unknown.get(name) for name in ("questions", "passages")}
    return [text.format(counts[name]) for text, name in said.items() if counts[name]]


def _percent(row: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    return [
        f"{row[name]:,.0f}" if name == "context_tokens" else f"{100 * row[name]:.1f}"
        for name in names
    ]
