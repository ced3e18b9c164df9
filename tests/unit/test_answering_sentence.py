"""Which sentence of a passage answers: one that tells, before one that asks, heads or repeats."""

from __future__ import annotations

from pathlib import Path

import pytest

import clew
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


def answered(folder: Path, text: str, name: str = "a.md") -> str:
    """The sentence that the only passage is said to answer with; empty: none."""
    (folder / name).write_text(text, encoding="utf-8")
    with clew.open(folder / "store", embedder=HashEmbedder()) as store:
        store.index([folder / name])
        hit = store.search(QUESTION, strategy="keyword").hits[0]
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


def test_neither_header_nor_quoted_reply_of_a_mail_answers(tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_text(MAIL, encoding="utf-8")
    with clew.open(tmp_path / "store", embedder=HashEmbedder()) as store:
        store.index([tmp_path / "a.eml"])
        answer = store.ask(QUESTION)
    quoted = [q.text for statement in answer.statements for q in statement.quotations]
    assert not any(text.startswith((">", "From:", "To:", "Subject:")) for text in quoted), quoted
    assert not any("wrote:" in text for text in quoted), quoted
