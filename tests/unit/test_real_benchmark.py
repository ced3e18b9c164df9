"""The benchmark on real documents: what counts as found, as right and as unlabelled."""

from __future__ import annotations

from pathlib import Path

import pytest

import clew
from benchmarks.real.asking import ask_all, summarise
from benchmarks.real.extracted import Name, Sentence, Stated
from benchmarks.real.extraction import Found, relations_judged
from benchmarks.real.fetch import read_corpora
from benchmarks.real.labels import judged_entities, judged_relations, marked_sentences
from benchmarks.real.questions import Gold, Question, read_questions
from clew.testing.fakes import HashEmbedder


@pytest.mark.parametrize(
    ("text", "passage", "holds"),
    [
        ("Ian  Murdock", "created by ian\nmurdock in 1993", True),
        ("Ian Murdock", "created by Ian Jackson", False),
        ("/version 1\\.[01]\\b/", "Version 1.0 ratified", True),
        ("/version 1\\.[01]\\b/", "Version 1.01", False),
        ("", "anything at all", True),
    ],
)
def test_a_gold_text_stands_in_the_passage(text: str, passage: str, *, holds: bool) -> None:
    assert Gold("a/*.txt", text).holds("a/b.txt", passage) is holds


def test_a_gold_path_takes_in_the_records_of_its_file_and_no_other_file() -> None:
    gold = Gold("mail/*.eml", "")
    assert gold.holds("mail/a.eml#3", "x")
    assert not gold.holds("mails/a.eml", "x")


def test_found_first_and_in_five_are_told_apart_and_all_asks_for_all(tmp_path: Path) -> None:
    for name, text in {"one": "zebra zebra zebra", "two": "zebra grass", "no": "sea"}.items():
        (tmp_path / f"{name}.txt").write_text(text)
    first, second, absent = Gold("one.txt", ""), Gold("two.txt", ""), Gold("no.txt", "")
    questions = [
        Question("zebra", "name", (second,)),
        Question("zebra zebra", "both", (first, second), all=True),
        Question("zebra grass", "not both", (first, absent), all=True),
        Question("unicorn", "no answer", ()),
    ]
    with clew.open(tmp_path / "store", embedder=HashEmbedder()) as engine:
        engine.index([tmp_path], include=["*.txt"])
        table = summarise(ask_all(engine, tmp_path, questions, ["keyword"]))["keyword"]
    assert table["both"]["five"] == 100
    assert table["not both"]["five"] == 0
    assert table["name"]["five"] == 100
    assert table["all kinds"]["questions"] == 3
    assert table["no answer"]["nothing"] == 1


def test_a_marked_sentence_counts_where_it_holds_what_is_sought(tmp_path: Path) -> None:
    (tmp_path / "zoo.txt").write_text("The zebra eats grass. The zebra sleeps at noon.")
    questions = [
        Question("Who sleeps, the zebra?", "right", (Gold("zoo.txt", "noon"),)),
        Question("What eats the zebra? Grass?", "wrong", (Gold("zoo.txt", "noon"),)),
        Question("zebra", "no text", (Gold("zoo.txt", ""),)),
    ]
    with clew.open(tmp_path / "store", embedder=HashEmbedder()) as engine:
        engine.index([tmp_path], include=["*.txt"])
        answers = ask_all(engine, tmp_path, questions, ["keyword"])
    assert [answer.marked for answer in answers] == [True, False, None]


def test_relations_without_a_label_are_unlabelled_and_not_right() -> None:
    right = next(judged for judged in judged_relations() if judged.right)
    known = Stated(right.head, right.relation, right.tail)
    new = Stated("Nobody", "knows", "Nothing")
    sentence = Sentence("a.txt", right.sentence, (Name("Nobody", "Nobody", "name"),), (known, new))
    table = relations_judged(Found([sentence]))
    assert table["judged"]["still given"] == 1
    assert table["all"]["unlabelled"] == 1
    assert table["precision"]["of those still given"] == 100


def test_the_labels_are_whole() -> None:
    questions = read_questions()
    assert len({question.ask for question in questions}) == len(questions) >= 200
    held_out = sum(question.held_out for question in questions)
    assert 0.4 < held_out / len(questions) < 0.6
    corpora = {corpus.name.split("/")[0] for corpus in read_corpora()}
    assert len(corpora) >= 6
    assert {gold.path.split("/")[0] for q in questions for gold in q.gold} <= corpora
    assert all(surface in m.sentence for m in marked_sentences() for surface, _ in m.names)
    assert {judged.types for judged in judged_entities()} > {()}
