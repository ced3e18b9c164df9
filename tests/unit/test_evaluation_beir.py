from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from clew.errors import InputError
from clew.evaluation import is_beir, load_beir

PASSAGES: list[dict[str, Any]] = [
    {
        "_id": "s:2",
        "title": "Talk",
        "text": "Ben: fine",
        "metadata": {"part_of": "1", "position": 2},
    },
    {"_id": "p1", "title": "Crete", "text": "An island.", "metadata": {"author": "Minos"}},
    {
        "_id": "s:1",
        "title": "Talk",
        "text": "Ann: how are you?",
        "metadata": {"part_of": "1", "position": 1, "created_at": "2023-05-08T15:56:00+02:00"},
    },
    {"_id": "p2", "title": "A title alone", "text": " "},
    {"_id": "p3", "title": "", "text": ""},
    {
        "_id": "t:1",
        "title": "Talk 2",
        "text": "Éva: 你好",
        "metadata": {"part_of": "2", "position": 1},
    },
]
QUESTIONS: list[dict[str, Any]] = [
    {"_id": "q1", "text": "Where?", "metadata": {"type": "place"}},
    {"_id": "q2", "text": "Not judged?"},
    {"_id": "q3", "text": "Who?"},
]
QRELS = "query-id\tcorpus-id\tscore\nq1\tp1\t2\nq1\ts:1\t1\nq3\ts:2\t1\nq3\tp1\t0\n"


def write_beir(folder: Path, qrels: str = QRELS, split: str = "test") -> Path:
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    write_lines(folder / "corpus.jsonl", PASSAGES)
    write_lines(folder / "queries.jsonl", QUESTIONS)
    (folder / "qrels" / f"{split}.tsv").write_text(qrels, encoding="utf-8")
    return folder


def write_lines(file: Path, records: list[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_beir(tmp_path / "tiny")


def test_passages_become_documents(folder: Path) -> None:
    dataset = load_beir(folder)

    documents = {document.source: document for document in dataset.documents}
    assert set(documents) == {
        "tiny/corpus.jsonl#p1",
        "tiny/corpus.jsonl#p2",
        "tiny/corpus.jsonl#part_of=1",
        "tiny/corpus.jsonl#part_of=2",
    }
    whole = documents["tiny/corpus.jsonl#p1"]
    assert (whole.title, whole.text) == ("Crete", "An island.")
    assert whole.metadata == {"author": "Minos"}
    assert whole.pieces == ()
    assert documents["tiny/corpus.jsonl#p2"].text == "A title alone"
    assert dataset.name == "tiny"
    assert dataset.passages == 6


def test_parts_are_joined_in_order_of_position(folder: Path) -> None:
    documents = {document.source: document for document in load_beir(folder).documents}

    talk = documents["tiny/corpus.jsonl#part_of=1"]
    assert talk.text == "Ann: how are you?\nBen: fine"
    assert [piece.key for piece in talk.pieces] == ["s:1", "s:2"]
    texts = {passage["_id"]: passage["text"] for passage in PASSAGES}
    for document in documents.values():
        for piece in document.pieces:
            assert document.text[piece.start : piece.end] == texts[piece.key]
    assert talk.pieces[0].metadata["position"] == 1
    assert talk.title == "Talk"
    assert talk.created_at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def test_questions_without_gold_are_left_out(folder: Path) -> None:
    dataset = load_beir(folder)

    assert [(question.id, question.type) for question in dataset.questions] == [
        ("q1", "place"),
        ("q3", None),
    ]
    assert dataset.qrels == {"q1": {"p1": 2, "s:1": 1}, "q3": {"s:2": 1, "p1": 0}}


def test_digest_is_that_of_the_questions(folder: Path) -> None:
    expected = hashlib.sha256((folder / "queries.jsonl").read_bytes()).hexdigest()

    assert load_beir(folder).digest == expected


def test_a_chunk_belongs_to_its_passage(folder: Path) -> None:
    dataset = load_beir(folder)

    assert dataset.passage_of("tiny/corpus.jsonl#p1", None) == "p1"
    assert dataset.passage_of("tiny/corpus.jsonl#part_of=1", "s:2") == "s:2"
    assert dataset.passage_of("elsewhere/notes.csv", "p1") is None


def test_the_same_documents_have_the_same_digests(folder: Path, tmp_path: Path) -> None:
    before = {document.source: document.sha256 for document in load_beir(folder).documents}
    changed = [{**record} for record in PASSAGES]
    changed[0]["text"] = "Ben: so-so"
    write_lines(folder / "corpus.jsonl", changed)

    after = {document.source: document.sha256 for document in load_beir(folder).documents}

    assert [source for source in before if before[source] != after[source]] == [
        "tiny/corpus.jsonl#part_of=1"
    ]


def test_judgements_of_unknown_ids_are_counted(folder: Path) -> None:
    write_beir(folder, QRELS + "q9\tp1\t1\nq9\tp2\t1\nq1\tp9\t1\n")

    dataset = load_beir(folder)

    assert (dataset.unknown_questions, dataset.unknown_passages) == (2, 1)
    assert dataset.qrels["q1"] == {"p1": 2, "s:1": 1, "p9": 1}


def test_another_split(folder: Path) -> None:
    write_beir(folder, "q1\tp1\t1\n", split="dev")

    assert load_beir(folder, split="dev").qrels == {"q1": {"p1": 1}}
    with pytest.raises(InputError, match=r"no split 'train'.*splits found: dev, test"):
        load_beir(folder, split="train")


def test_no_question_with_gold(folder: Path) -> None:
    write_beir(folder, "query-id\tcorpus-id\tscore\nq1\tp1\t0\nq8\tp1\t1\n")

    with pytest.raises(InputError, match=r"no question .* has a passage judged above 0"):
        load_beir(folder)


@pytest.mark.parametrize("part", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"])
def test_a_folder_that_is_not_beir(folder: Path, part: str) -> None:
    (folder / part).unlink()

    assert not is_beir(folder)
    with pytest.raises(InputError, match=r"tiny' is not a BEIR folder; expected corpus\.jsonl"):
        load_beir(folder)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"line 2: got '\{', expected a JSON object"),
        ("[1]", r"line 2: got '\[1\]', expected a JSON object"),
        ('{"text": "no id"}', "line 2: got None, expected a string under '_id'"),
        ('{"_id": "a", "text": "twice"}', "line 2: got 'a', expected an _id that .* occurs once"),
        ('{"_id": "b"}', "line 2: got None, expected a string under 'text'"),
        ('{"_id": "b", "text": "", "metadata": 7}', "line 2: got 7, expected an object"),
        (
            '{"_id": "b", "text": "", "metadata": {"part_of": 1, "position": "x"}}',
            "line 2: got 'x', expected a number under metadata 'position'",
        ),
    ],
)
def test_malformed_passages(folder: Path, line: str, message: str) -> None:
    (folder / "corpus.jsonl").write_text(f'{{"_id": "a", "text": "fine"}}\n{line}\n', "utf-8")

    with pytest.raises(InputError, match=rf"corpus\.jsonl', {message}"):
        load_beir(folder)


@pytest.mark.parametrize("line", ["q1\tp1", "q1 p1 1", "q1\tp1\tyes", "q1\t0\tp1\t1"])
def test_malformed_judgements(folder: Path, line: str) -> None:
    write_beir(folder, f"{QRELS}{line}\n")

    with pytest.raises(InputError, match=r"test\.tsv', line 6: got .*expected query-id"):
        load_beir(folder)


def test_a_file_that_is_not_text(folder: Path) -> None:
    (folder / "queries.jsonl").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(InputError, match=r"queries\.jsonl' is not UTF-8 text"):
        load_beir(folder)
