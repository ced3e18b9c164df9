"""Questions with the candidates that the walk finds for them, each behind what led there.

    python -m training.reader.walked BENCH DATA/walked.jsonl.gz

Other sources hold a question with its passage; here the reader learns from what it will be given in
a search: second hops with their bridge, and the passages that mislead a walk. Only sets whose
licences let a model ship that has learned from them (`BENCH/README.md`).
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import clew
from clew.engine import Engine
from clew.plugins.evaluation.run import load_beir
from clew.search.options import Options
from clew.search.ranker import rank_candidates
from clew.search.reading import bridge_sentences, said, unread
from clew.search.session import QuerySession
from training.sources import cap

SETS = (
    *("musique", "hotpotqa", "hotpotqa2", "2wikimultihopqa", "multihop2"),
    *("timeqa", "qmsum"),
)
WRONG = 12
"""Of a question, the best candidates that do not help."""


def main() -> None:
    """Ask every question of its set, and write what is found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("bench", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    with gzip.open(given.out, "wt", encoding="utf-8") as out:
        for name in SETS:
            for record in asked(given.bench / name):
                out.write(json.dumps({"source": name, **record}) + "\n")
            print(name, flush=True)


def asked(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the questions of a set with their passages: those that help, and those in their way."""
    data = cap(load_beir(folder))
    told = [json.loads(line) for line in (folder / "queries.jsonl").open(encoding="utf-8")]
    answers = {one["_id"]: str(one["metadata"].get("answer", "")) for one in told}
    with tempfile.TemporaryDirectory() as store, clew.open(store=store) as engine:
        engine.add_documents(data.documents)
        for question in data.questions:
            gold = {id_ for id_, grade in data.qrels[question.id].items() if grade > 0}
            passages: list[dict[str, Any]] = []
            for chunk, thread in candidates(engine, question.text):
                helps = data.passage_of(chunk.source, chunk.key) in gold
                if helps or sum(not one["helps"] for one in passages) < WRONG:
                    one = unread(chunk)
                    passages.append(
                        {"title": one.title, "text": one.text, "thread": thread, "helps": helps}
                    )
            yield {
                "question": question.text,
                "answers": [answers[question.id]],
                "passages": passages,
            }


def candidates(engine: Engine, question: str) -> Iterator[tuple[Any, str]]:
    """Yield the candidates of a search, best first, each with its thread."""
    options = Options(strategy="graph", limit=10, max_tokens=1000, now=datetime.now(UTC))
    session = QuerySession.start(engine.state, question, options)
    evidence, snapshot = session.gather(), session.snapshot
    if not len(evidence.rows):
        return
    ids = snapshot.chunk_ids[evidence.rows]
    found = rank_candidates(session.resources.ranker, evidence, snapshot, session.vectors_of(ids))
    rows = evidence.rows[found.order]
    bridges = bridge_sentences(evidence, snapshot, rows)
    homes = snapshot.sentence_chunk[bridges[bridges >= 0]]
    around = [*snapshot.chunk_ids[rows].tolist(), *snapshot.chunk_ids[homes].tolist()]
    passages = session.resources.store.passage_records(around).passages
    for row, bridge in zip(rows.tolist(), bridges.tolist(), strict=True):
        id_ = int(snapshot.chunk_ids[row])
        if id_ in passages:
            yield passages[id_].chunk, said(snapshot, passages, bridge)


if __name__ == "__main__":
    main()
