"""Folders of invented people's files with questions asked from memory, in other words.

Each file of `worlds/` holds the notes of somebody, and what they ask: `note` is the number of the
note that answers, `answer` its words there, `thread` a sentence of another note that leads to it.
Data sets ask about one passage of an encyclopaedia, in its own words; here a question says "what
did it set us back", and the note says "Bill £135, paid".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from clew.search.reading import LONGEST, inner_names, long_words, titled
from training.reader.examples import Group, Passage, sentences, share_of, spot

FOLDER = Path(__file__).with_suffix("")
HELD_OUT = 0.15
"""Share of the folders that nothing is learned from."""
TEMPTING = 6
"""Other notes of a folder that a question is learned with."""


def read(*, held_out: bool, tempting: int = TEMPTING) -> list[Group]:
    """Return the questions of all folders, of those held out or all others."""
    found = []
    for path in sorted(FOLDER.glob("*.json")):
        if (share_of(path.stem) < HELD_OUT) == held_out:
            found += list(
                groups(f"worlds/{path.stem}", json.loads(path.read_text("utf-8")), tempting)
            )
    return found


def groups(source: str, world: dict[str, Any], tempting: int) -> Iterator[Group]:
    """Yield the questions of a folder, those that it can't answer too.

    Beside the right note, which comes first, stand the `tempting` ones most like it and its answer.
    """
    notes: Sequence[dict[str, str]] = world["notes"]
    said = [long_words(f"{note['title']} {note['text']}") for note in notes]
    bridges = _bridges(notes)

    def passage(number: int, question: str) -> Passage:
        like = long_words(question)
        bridge = max(bridges[number], key=lambda one: len(like & one[1]), default=("", set()))
        return Passage(notes[number]["text"], notes[number]["title"], bridge=bridge[0])

    def beside(question: str, *helping: int) -> tuple[Passage, ...]:
        like = long_words(question).union(*(said[n] for n in helping))
        others = [n for n in range(len(notes)) if n not in helping]
        others.sort(key=lambda n: -len(like & said[n]) / len(said[n]) ** 0.5)
        return tuple(passage(n, question) for n in others[:tempting])

    for asked in world["questions"]:
        number, answer, thread = asked["note"], asked["answer"], asked.get("thread", "")
        note = notes[number]
        place = spot(note["text"], [answer])
        steps = [
            n for n, one in enumerate(notes) if thread and n != number and thread in one["text"]
        ]
        led = titled(thread, notes[steps[0]]["title"]) if steps else thread
        goal = replace(passage(number, asked["q"]), helps=True, answer=place, thread=led)
        yield Group(asked["q"], (goal, *beside(asked["q"], number, *steps)), source, (answer,))
        for step in steps:
            # It leads on, though the answer does not stand there.
            first = replace(passage(step, asked["q"]), helps=True)
            yield Group(asked["q"], (first, *beside(asked["q"], number, step)), source, (answer,))
    for question in world["unanswerable"]:
        yield Group(question, beside(question), source)


def _bridges(notes: Sequence[dict[str, str]]) -> list[list[tuple[str, set[str]]]]:
    """Return for each note the sentences of others that share a name with it, and their words."""
    names = [inner_names(f"{note['title']}. {note['text']}") for note in notes]
    told = [
        (number, titled(one, note["title"]), inner_names(one), long_words(one))
        for number, note in enumerate(notes)
        for one in sentences(note["text"])
        if len(one) < LONGEST
    ]
    return [
        [(text, words) for home, text, named, words in told if home != number and named & own]
        for number, own in enumerate(names)
    ]
