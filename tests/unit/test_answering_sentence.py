"""Which sentence of a passage answers: one that tells, before one that asks, heads or repeats."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.search.answer.answering_sentence import asked_kind, holds_kind
from clew.testing.fakes import HashEmbedder

QUESTION = "Where does the clock of Vell stand now?"
MAIL = """\
From: Tobias Fenn <tobias@clock-of-vell.example>
To: Ada Morn <ada@clock-of-vell.example>
Subject: Re: The clock of Vell
Date: Tue, 7 May 2024 10:00:00 +0000
Message-ID: <b1@harrow.example>

Now it is shown in the museum in Ostby. They restored its face.

On Mon, 6 May 2024 Ada Morn wrote:
> Where does the clock of Vell stand now? I looked for the clock of Vell in the hall.
"""


def answered(folder: Path, text: str, question: str = QUESTION, strategy: str = "keyword") -> str:
    """The sentence that the only passage is said to answer with; empty: none."""
    (folder / "a.md").write_text(text, encoding="utf-8")
    with clew.open(folder / "store", embedder=HashEmbedder()) as store:
        store.index([folder / "a.md"])
        hit = store.search(question, strategy=strategy).hits[0]
    if hit.answer is None:
        return ""
    start, end = hit.answer
    return hit.chunk.text[start - hit.chunk.start : end - hit.chunk.start]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (
            "Where does the clock of Vell stand now? It went to the museum in Ostby.",
            "It went to the museum in Ostby.",
        ),
        (
            "Where does the clock of Vell stand? Guess! The clock of Vell stands in Ostby.",
            "The clock of Vell stands in Ostby.",
        ),
        ("Who knows where the clock of Vell stands now?", ""),
        (
            "> The clock of Vell stands in the hall.\n\nThat was so, but the clock is in Ostby.",
            "That was so, but the clock is in Ostby.",
        ),
        ("> The clock of Vell stands in the hall now.", ""),
        (
            "# The clock of Vell\n\nThe clock stands in Ostby.",
            "The clock stands in Ostby.",
        ),
        (
            "THE CLOCK OF VELL STANDS\n========================\n\n********\n\nIn Ostby, by now.",
            "In Ostby, by now.",
        ),
    ],
)
def test_what_tells_answers(tmp_path: Path, text: str, answer: str) -> None:
    assert answered(tmp_path, text) == answer


MINUTES = """\
# Minutes of the Vell bowls club

1. Bees. Mrs Brandt asked to keep two hives on plot 31.
2. Bowls. The committee bought new bowls. They cost £290 and came from Ostby.
3. Chair. Dorothy Pell is ill. Ravi Menon chairs the club until she is back.

| part | number | made of |
| --- | --- | --- |
| piston cup | K40-07 | leather |
| foot valve | K40-11 | brass |
"""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What was said about bees?", "Mrs Brandt asked to keep two hives on plot 31."),
        ("How much did the bowls cost?", "They cost £290 and came from Ostby."),
        (
            "Who chairs while Dorothy Pell is away?",
            "Ravi Menon chairs the club until she is back.",
        ),
        ("What part number has the foot valve?", "| foot valve | K40-11 | brass |"),
    ],
)
def test_what_holds_the_thing_asked_for_answers(tmp_path: Path, question: str, answer: str) -> None:
    assert answered(tmp_path, MINUTES, question, "graph") == answer


@pytest.mark.parametrize(
    ("question", "sentence", "holds"),
    [
        ("How many people came?", "Some forty people came.", False),
        ("How many people came?", "12 people came.", True),
        ("How many of the 12 came?", "All 12 came.", False),
        ("How many came?", "2. All of them came.", False),
        ("When was it built?", "It was built in May.", True),
        ("In which year was it built?", "It was built in spring.", False),
        ("Who built it?", "It was built by Ada Morn.", True),
        ("Who is Ada Morn?", "They saw Ada Morn.", False),
        ("Wer hat es gebaut?", "Gebaut hat es Uwe Petersen.", True),
        ("Combien donne la mairie ?", "La subvention s'élève à 1 200 euros.", True),
    ],
)
def test_kinds_of_things(question: str, sentence: str, holds: bool) -> None:
    kind = asked_kind(question)
    assert kind is not None
    assert holds_kind(sentence, kind, question) is holds


def test_a_question_of_another_kind_asks_for_none_of_these() -> None:
    assert asked_kind("What did she say about whoever came?") is None


def test_neither_header_nor_quoted_reply_of_a_mail_answers(tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_text(MAIL, encoding="utf-8")
    with clew.open(tmp_path / "store", embedder=HashEmbedder()) as store:
        store.index([tmp_path / "a.eml"])
        answer = store.ask(QUESTION)
    quoted = [q.text for statement in answer.statements for q in statement.quotations]
    assert not any(text.startswith((">", "From:", "To:", "Subject:")) for text in quoted), quoted
    assert not any("wrote:" in text for text in quoted), quoted


def test_no_header_stands_for_what_a_mail_of_a_period_says(tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_text(MAIL, encoding="utf-8")
    with clew.open(tmp_path / "store", embedder=HashEmbedder()) as store:
        store.index([tmp_path / "a.eml"])
        (mail,) = store.documents.list()
        assert mail.created_at is not None
        answer = store.ask(f"What happened in {mail.created_at:%B %Y}?")
    assert answer.statements
    assert not any(said.text.startswith(("From:", "To:", "Subject:")) for said in answer.statements)


def test_of_sentences_with_the_same_words_the_first_answers(tmp_path: Path) -> None:
    # Sets of the same words may run through them in different orders, and a sum may depend on it.
    words = [f"{a}{b}elk" for a in "bdfghklm" for b in "aeiou"]
    for start in range(0, 30, 5):
        asked = words[start : start + 10]
        turned = [" ".join(asked[by:] + asked[:by]) for by in range(10)]
        rarer = [f"They saw {' '.join(asked[:many])}.\n" for many in range(1, 9)]
        text = "".join([*(f"Then {those} came.\n" for those in turned), *rarer])
        (folder := tmp_path / str(start)).mkdir()
        assert answered(folder, text, f"What of {turned[0]}?") == f"Then {turned[0]} came."


@given(number=st.integers(1000, 2099), word=st.sampled_from(["Invoice", "Order", "Ticket", "Page"]))
def test_a_number_says_no_time(number: int, word: str) -> None:
    question = f"When is the {word.lower()} due?"
    for sentence in (f"{word} {number}", f"# {word} {number}", f"It costs {number} EUR."):
        assert not holds_kind(sentence, "time", question)
    for sentence in (f"It was made in {number}.", f"Due: 15 March {number}", f"{number}-05-07"):
        assert holds_kind(sentence, "time", question)


def test_the_line_with_the_date_answers_and_not_the_numbered_heading(tmp_path: Path) -> None:
    text = "# Invoice 2087\n\nBrook Lane 1904\nDate: 14 February 2024\nDue: 15 March 2024\n"
    found = answered(tmp_path, text, "When is the invoice due?")
    assert found.startswith("Due: 15 March 2024"), found
