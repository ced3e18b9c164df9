"""Benchmarks and training."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import clew
from benchmarks.real.asking import ask_all, summarise
from benchmarks.real.extracted import Name, Sentence, Stated
from benchmarks.real.extraction import Found, relations_judged
from benchmarks.real.fetch import read_corpora
from benchmarks.real.labels import judged_entities, judged_relations, marked_sentences
from benchmarks.real.questions import Gold, Question, read_questions
from benchmarks.rent import Group as Rules
from benchmarks.rent import cost, definitions_and_uses, read_groups
from clew.search.ranker import load_ranker
from clew.testing.fakes import HashEmbedder
from tests.unit.test_evaluation import Records, write_set
from training.confidence import calibrate
from training.forest import save_ranker
from training.groups import Group
from training.prepare import prepare
from training.regime import fit
from training.sources import read_sources


@pytest.mark.parametrize("group", read_groups(), ids=lambda group: group.name)
def test_what_a_group_leaves_out_exists(group: Rules) -> None:
    for at in group.off:
        module, _, path = at.partition(":")
        found = import_module(f"clew.{module}")
        for name in path.split("."):
            found = getattr(found, name)


def test_a_group_costs_what_nothing_else_reaches() -> None:
    definitions, uses = definitions_and_uses()
    groups = {group.name: group for group in read_groups()}
    named, described = (
        cost(groups[name], definitions, uses) for name in ("code_names", "described")
    )
    assert named > described > 0


def test_a_group_that_is_left_out_finds_nothing() -> None:
    program = (
        "from benchmarks.rent import leave_out; from tests.unit.test_extract import types;"
        "text = 'He directed \"The Wind in the Trees\" then.';"
        "before = types(text); leave_out('indexing.ner.known_terms:find_quoted', 'empty');"
        "assert 'work' in before.values() and 'work' not in types(text).values()"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


# --- benchmark graph


# --- The benchmark on real documents: what counts as found, as right and as unlabelled.


@pytest.mark.parametrize(
    ("path", "text", "passage", "holds"),
    [
        ("a/b.txt", "Ian  Murdock", "created by ian\nmurdock in 1993", True),
        ("a/b.txt", "Ian Murdock", "created by Ian Jackson", False),
        ("a/b.txt", "/version 1\\.[01]\\b/", "Version 1.0 ratified", True),
        ("a/b.txt", "/version 1\\.[01]\\b/", "Version 1.01", False),
        # The records of its file, and no other file.
        ("a/b.txt#3", "", "anything at all", True),
        ("ab/b.txt", "", "anything at all", False),
    ],
)
def test_what_a_gold_passage_holds(path: str, text: str, passage: str, *, holds: bool) -> None:
    assert Gold("a/*.txt", text).holds(path, passage) is holds


def test_found_first_in_five_and_marked_are_told_apart(engine: clew.Clew, tmp_path: Path) -> None:
    zoo = "The zebra eats grass. The zebra sleeps at noon."
    texts = {"one": "lion lion lion", "two": "lion grass", "no": "sea", "zoo": zoo}
    for name, text in texts.items():
        (tmp_path / f"{name}.txt").write_text(text)
    first, second, absent = (Gold(f"{name}.txt", "") for name in ("one", "two", "no"))
    noon = Gold("zoo.txt", "noon")
    questions = [
        Question("lion", "name", (second,)),
        Question("lion lion", "both", (first, second), all=True),
        Question("lion grass", "not both", (first, absent), all=True),
        Question("unicorn", "no answer", ()),
        Question("Who sleeps, the zebra?", "marked", (noon,)),
        Question("What eats the zebra? Grass?", "not marked", (noon,)),
    ]
    engine.index([tmp_path], include=["*.txt"])
    answers = ask_all(engine, tmp_path, questions, ["keyword"])
    assert [answer.marked for answer in answers] == [None, None, None, None, True, False]
    table = summarise(answers)["keyword"]
    five = {kind: table[kind]["five"] for kind in ("name", "both", "not both")}
    assert five == {"name": 100, "both": 100, "not both": 0}
    assert table["all kinds"]["questions"] == 5
    assert table["no answer"]["nothing"] == 1


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


# --- training


TOWNS = ("Arden", "Bexley", "Corfe", "Dunmere", "Elmswell", "Farley", "Granby", "Hexham")


def write_towns(folder: Path, trade: str) -> None:
    """A passage on each town's maker, and one on each maker; a question that needs both."""
    passages: Records = []
    questions: Records = []
    qrels = ""
    for number, town in enumerate(TOWNS):
        maker = f"{town[:2]}wick {trade.title()}son"
        texts = [(town, f"The {trade} of {town} was made by {maker}."), (maker, f"{maker} sang.")]
        for part, (title, text) in enumerate(texts):
            passages.append({"_id": f"p{number}{part}", "title": title, "text": text})
            qrels += f"q{number}\tp{number}{part}\t1\n"
        questions.append({"_id": f"q{number}", "text": f"What did the {trade} maker of {town} do?"})
    write_set(folder, passages, questions, qrels)


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> list[Group]:
    bench = tmp_path_factory.mktemp("bench")
    for name, trade in (("towns", "bell"), ("talks/0", "clock"), ("talks/1", "mill")):
        write_towns(bench / name, trade)
    said: list[str] = []
    made = prepare(read_sources(bench), said.append, embedder=HashEmbedder())
    assert len(said) == 7
    return made


def test_no_store_answers_the_questions_of_other_families(groups: list[Group]) -> None:
    foreign = [group for group in groups if group.kind == "foreign"]

    assert foreign
    for group in foreign:
        stores = {dataset.split("/")[0] for dataset, _ in group.shelf.passages}
        assert group.family not in stores


def test_copies_of_a_question_share_a_fold(groups: list[Group]) -> None:
    folds: dict[str, set[int]] = {}
    for group in groups:
        folds.setdefault(group.question, set()).add(group.fold)

    assert all(len(found) == 1 for found in folds.values())
    assert set.union(*folds.values()) == {0, 1, 2, 3, 4}


def test_grades_are_those_of_the_candidates_passages(groups: list[Group]) -> None:
    for group in groups:
        gold = {p for p, grade in zip(group.candidates, group.grades, strict=True) if grade}
        assert gold == set(group.gold) & set(group.candidates)
        assert len(group.gold) == (0 if group.kind == "foreign" else 2)


def test_the_same_groups_make_the_same_file(groups: list[Group], tmp_path: Path) -> None:
    for name in ("one.npz", "other.npz"):
        save_ranker(fit(groups, frozenset({"ab"})), tmp_path / name)

    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "other.npz").read_bytes()
    assert load_ranker(tmp_path / "one.npz").trained_on == {"ab"}


@pytest.mark.parametrize("seed", range(20))
def test_calibration_is_the_nearest_rising_line(seed: int) -> None:
    random = np.random.default_rng(seed)
    scores = random.permutation(40).astype(np.float32)
    answers = (random.random(40) < 1 / (1 + np.exp(20 - scores))).astype(np.float32)
    weights = random.uniform(0.5, 2, 40).astype(np.float32)

    at, share = calibrate(scores, answers, weights)

    assert (np.diff(at) > 0).all()
    assert (np.diff(share) > 0).all()
    order = np.argsort(scores)
    ordered, heavy = answers[order], weights[order]
    # Isotonic regression in closed form: the highest of the least means of what stands around.
    fitted = [
        max(
            min(np.average(ordered[a : b + 1], weights=heavy[a : b + 1]) for b in range(i, 40))
            for a in range(i + 1)
        )
        for i in range(40)
    ]
    np.testing.assert_allclose(share, np.unique(np.round(fitted, 5)), atol=1e-4)
