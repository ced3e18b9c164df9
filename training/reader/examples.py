"""What the reader learns from: a question with passages that answer it and passages that do not.

A group is one question with the passages that it is read with. Each passage has two labels: whether
it helps to answer, and the characters of the answer in it. Groups come from `DATA/*.jsonl.gz` (its
README names sources and licences); documents are held out whole, by a hash of their titles.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import re
import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

HELD_OUT = 0.1
"""Share of the documents of a source that nothing is learned from."""

SHARES: Mapping[str, float] = {
    "squad_dev": 0.9,
    "natural_questions": 0.5,
    "hotpotqa_train_part": 0.3,
    "fairytaleqa": 0.25,
    "qamr": 0.2,
    "squad_train": 0.2,
    "squad_train_part": 0.1,
    "tatqa": 0.2,
    "strategyqa": 0.2,
    "entailment_bank": 0.2,
    "fool_me_twice": 0.1,
    "wikiwhy": 0.1,
    "qmsum_meetings": 0.3,
    "pubmedqa": 0.1,
    "medquad": 0.15,
    "openstax": 0.15,
    "gov_help_pages": 0.2,
    "tldr_commands": 0.1,
    "python_code": 0.15,
    "walked": 1.0,
}
"""Part of each source that one round reads; folders of invented files are read whole. People ask
of their files as `worlds` does, and `squad_dev` has the questions that only seem to be answered."""
WALKED = "walked"
"""The source that `training.reader.walked` writes."""
HELD_OUT_WALKED = 0.2
"""Share of those questions that nothing is learned from."""
WRONG = 6
"""Passages beside the right one; `train` learns from those that mislead the reader most."""
LED, CROPPED = 0.75, 0.3
"""Share of the passages that keep a thread they have, and of those cut to a few sentences."""
MISLED, BRIDGED = 0.4, 0.35
"""Share of the passages beside a right one with a thread that are read behind the same, and of all
without one that are read behind a sentence that names what they do: a search leads to wrong
passages, too, and a thread by itself must say nothing."""

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[\"'(\[]?[A-Z0-9])")
_NAME = re.compile(
    r"\b(?:[A-Z][\w'-]+)(?:\s+(?:of|de|van|von|the)?\s*[A-Z][\w'-]+)*|\b\d[\d,.]*\d\b"
)
_COMPOSED = frozenset(("squad_dev", "natural_questions", "hotpotqa_train_part"))
_MONTHS = frozenset(
    "January February March April May June July August September October November December".split()
)
_OPENERS = frozenset(
    "who what when where which why how whose whom in on at the a an did does do is are was were if"
    " for from to of by with during after before according".split()
)


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage as the reader gets it."""

    text: str
    title: str = ""
    helps: bool = False
    answer: tuple[int, int] | None = None
    """Characters of `text`, first and behind the last."""
    is_judged: bool = True
    """Whether `answer` None says that the answer does not stand here; else nobody knows where."""
    thread: str = ""
    bridge: str = ""
    """What a search may read it behind instead: a sentence that names something it names."""


@dataclass(frozen=True, slots=True)
class Group:
    """A question and its passages."""

    question: str
    passages: tuple[Passage, ...]
    source: str
    answers: tuple[str, ...] = field(default=())


def read(folder: Path, *, held_out: bool) -> list[Group]:
    """Return the groups of all sources, those of the held-out documents or all others."""
    found = []
    for name in SHARES:
        path = folder / f"{name}.jsonl.gz"
        if not path.exists():
            print(f"{path} is not there, and nothing is learned from it", file=sys.stderr)
            continue
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            records = [json.loads(line) for line in lines]
        made = _walked if name == WALKED else partial(_group, name)
        found += [made(record) for record in records if _is_held(name, record) == held_out]
    return found


def share_of(text: str) -> float:
    """Return a number from 0 to 1 that depends on the text alone."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") / 2**32


def _is_held(name: str, record: Mapping[str, Any]) -> bool:
    if name == WALKED:
        return share_of(record["question"]) < HELD_OUT_WALKED
    titles = [one["title"] for one in (*record["positives"], *record["negatives"]) if one["title"]]
    return share_of(f"{name}:{titles[0] if titles else record['id']}") < HELD_OUT


def _group(name: str, record: Mapping[str, Any]) -> Group:
    answers = tuple(record["answers"])
    answerable = record["answerable"]
    passages = []
    for one in record["positives"]:
        place = spot(one["text"], answers) if answerable else None
        evident = not answerable or place is not None
        passages.append(Passage(one["text"], one["title"], answerable, place, evident))
    passages += [Passage(one["text"], one["title"]) for one in record["negatives"]]
    return Group(record["question"], tuple(passages), name, answers)


def _walked(record: Mapping[str, Any]) -> Group:
    answers = tuple(record["answers"])
    found = [one for one in record["passages"] if one["helps"]]
    spots = {one["text"]: spot(one["text"], answers) for one in found}
    # Where no passage that helps says the answer in its words, nobody knows where it stands.
    is_said = any(spots.values())
    passages = tuple(
        Passage(
            one["text"],
            one["title"],
            one["helps"],
            spots.get(one["text"]),
            is_said or not one["helps"],
            one["thread"],
        )
        for one in record["passages"]
    )
    return Group(record["question"], passages, f"walked/{record['source']}", answers)


def spot(text: str, answers: Sequence[str]) -> tuple[int, int] | None:
    """The first place of the longest answer that stands in the text as whole words."""
    for answer in sorted(answers, key=len, reverse=True):
        if len(answer) < 2 or answer.lower() in {"yes", "no", "maybe"}:
            continue
        place = re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text, re.IGNORECASE)
        if place:
            return place.span()
    return None


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, by a rule that suffices for learning."""
    return [one for one in _SENTENCE_END.split(text) if one.strip()]


class Rounds:
    """Groups in the order in which they are read, made anew for each round from its number."""

    def __init__(
        self,
        groups: Sequence[Group],
        seed: int = 1,
        invented: Callable[[random.Random], Iterable[Group]] = lambda chance: (),
    ) -> None:
        """`invented` gives each round groups of its own, which are read as they are."""
        self._groups = list(groups)
        self._invented = invented
        self._seed = seed
        self._composed = compose(self._groups, random.Random(seed))
        self._names = _names_by_title(self._groups)

    def round(self, number: int) -> Iterator[Group]:
        """Yield the groups of a round, shuffled."""
        chance = random.Random(f"{self._seed}:{number}")
        chosen = [
            one
            for one in self._groups
            if chance.random() < SHARES.get(one.source.partition("/")[0], 1.0)
        ]
        chosen += self._composed
        varied: list[tuple[bool, Group]] = [(True, one) for one in chosen]
        varied += [(False, one) for one in self._invented(chance)]
        chance.shuffle(varied)
        for is_varied, one in varied:
            group = self._varied(one, chance) if is_varied else one
            yield replace(group, question=reworded(group.question, chance))

    def _varied(self, group: Group, chance: random.Random) -> Group:
        helping = [one for one in group.passages if one.helps]
        others = [one for one in group.passages if not one.helps]
        passages: list[Passage] = []
        if helping:
            passages.append(self._led(chance.choice(helping), helping, chance))
        # Where a question has no answer, its own passage is the one to learn from.
        elif others and "/" not in group.source:
            passages.append(others.pop(0))
        passages += chance.sample(others, min(len(others), WRONG))
        spoilt = self._spoilt(group, passages[0], chance) if helping else None
        if spoilt:
            passages.append(spoilt)
        passages = [self._dressed(_cropped(one, chance), passages, chance) for one in passages]
        return replace(group, passages=tuple(passages))

    @staticmethod
    def _led(passage: Passage, helping: Sequence[Passage], chance: random.Random) -> Passage:
        """The passage with the other evidence as its thread, where the question needs several."""
        rest = [one.text for one in helping if one is not passage]
        if passage.thread or not rest:
            return passage
        keep = chance.sample(rest, chance.randint(0, min(2, len(rest))))
        return replace(passage, thread=" ".join(keep))

    def _spoilt(self, group: Group, right: Passage, chance: random.Random) -> Passage | None:
        """The right passage without what makes it so: the answering sentence, or a name asked."""
        if right.answer is None:
            return None
        start, end = right.answer
        answer = right.text[start:end]
        drawn = chance.random()
        if drawn < 0.3:
            kept = [one for one in sentences(right.text) if answer.lower() not in one.lower()]
            if kept and any(answer in one for one in sentences(right.text)):
                return replace(right, text=" ".join(kept), helps=False, answer=None)
        elif drawn < 0.65:
            asked = [
                one for one in _NAME.findall(group.question)[:8] if one.lower() not in _OPENERS
            ]
            asked = [one for one in asked if one in right.text and one not in answer]
            if asked:
                name = chance.choice(asked)
                other = self._other_name(name, right.title, chance)
                text = right.text.replace(name, other)
                title = right.title.replace(name, other)
                return replace(right, text=text, title=title, helps=False, answer=None)
        return None

    def _other_name(self, name: str, title: str, chance: random.Random) -> str:
        if name[0].isdigit():
            return "".join(
                chance.choice("123456789") if c.isdigit() and chance.random() < 0.7 else c
                for c in name[:-1]
            ) + str((int(name[-1]) + chance.randint(1, 9)) % 10)
        pool = self._names.get(title, ()) if chance.random() < 0.5 else ()
        alike = [one for one in pool if one != name and one not in name and name not in one]
        return chance.choice(alike or [one for one in self._names[""] if one not in name])

    @staticmethod
    def _dressed(passage: Passage, beside: Sequence[Passage], chance: random.Random) -> Passage:
        """The passage with its title or without, now and then with a thread that leads nowhere."""
        if passage.title and chance.random() < 0.3:
            passage = replace(passage, title="")
        led = beside[0].thread
        if passage.thread and chance.random() > LED:
            passage = replace(passage, thread="")
        elif not passage.thread and led and not passage.helps and chance.random() < MISLED:
            passage = replace(passage, thread=led)
        elif not passage.thread and passage.bridge and chance.random() < BRIDGED:
            passage = replace(passage, thread=passage.bridge)
        elif not passage.thread and chance.random() < 0.12:
            others = [one for one in beside if one is not passage and one.answer is None]
            pool = sentences(chance.choice(others).text) if others else []
            if pool:
                passage = replace(passage, thread=chance.choice(pool))
        return passage


def _cropped(passage: Passage, chance: random.Random) -> Passage:
    """The passage, now and then only a few of its sentences, as short as notes are.

    The answer stays; what helps without one stays whole.
    """
    starts = [0, *(one.end() for one in _SENTENCE_END.finditer(passage.text))]
    is_whole = passage.helps and passage.answer is None
    if chance.random() > CROPPED or len(starts) < 3 or is_whole:
        return passage
    start, end = passage.answer or (chance.choice(starts),) * 2
    first = bisect_right(starts, start) - 1 - chance.randint(0, 1)
    last = bisect_right(starts, max(start, end - 1)) + chance.randint(0, 1)
    begin = starts[max(0, first)]
    close = starts[last] if last < len(starts) else len(passage.text)
    answer = (start - begin, end - begin) if passage.answer else None
    return replace(passage, text=passage.text[begin:close].rstrip(), answer=answer)


def _names_by_title(groups: Sequence[Group]) -> dict[str, list[str]]:
    names: defaultdict[str, set[str]] = defaultdict(set)
    # Of many questions about a passage it is the same.
    texts = dict.fromkeys((one.title, one.text) for group in groups for one in group.passages)
    for title, text in texts:
        found = {name for name in _NAME.findall(text)[1:] if not name[0].isdigit()}
        found = {name for name in found if name.lower() not in _OPENERS and len(name) > 3}
        names[title] |= found
        if len(names[""]) < 40_000:
            names[""] |= found
    return {title: sorted(found) for title, found in names.items()}


def compose(groups: Sequence[Group], chance: random.Random, most: int = 3_000) -> list[Group]:
    """Join questions by an entity: the answer of one is named in the other.

    "Who founded Vell?" (Ada Morn) and "Where was Ada Morn born?" give "Where was the one born who
    founded Vell?" in a form as people type it; the first one's sentence is the thread.
    """
    by_answer: defaultdict[str, list[tuple[Group, Passage]]] = defaultdict(list)
    for group in groups:
        if group.source not in _COMPOSED:
            continue
        for one in group.passages:
            if one.answer is not None:
                text = one.text[slice(*one.answer)]
                is_date = re.search(r"\d", text) or text.split()[0] in _MONTHS
                if 4 <= len(text) <= 40 and text[0].isupper() and not is_date:
                    by_answer[text].append((group, one))
    found: list[Group] = []
    for group in groups:
        goals = [one for one in group.passages if one.helps and one.answer is not None]
        if not goals or group.source not in _COMPOSED:
            continue
        for name in {one for one in _NAME.findall(group.question) if one in by_answer}:
            starts = [
                (first, passage)
                for first, passage in by_answer[name]
                if first.question != group.question and name not in first.question
            ]
            described = [(_described(first.question), passage) for first, passage in starts]
            described = [(text, passage) for text, passage in described if text]
            if not described:
                continue
            text, passage = chance.choice(described)
            whole = group.question.replace(name, text).replace("the the ", "the ")
            thread = next((s for s in sentences(passage.text) if name in s), passage.text[:200])
            led = tuple(replace(one, thread=thread) if one.helps else one for one in group.passages)
            # The first step helps, too, though the answer does not stand there.
            step = Passage(passage.text, passage.title, helps=True, answer=None, is_judged=True)
            misled = next((one for one in led if not one.helps), None)
            more = (replace(misled, thread=thread),) if misled else ()
            found.append(Group(whole, (*led, *more), group.source, group.answers))
            found.append(Group(whole, (step, *more), group.source, group.answers))
    chance.shuffle(found)
    return found[:most]


def _described(question: str) -> str:
    """Return "the person who founded Vell" for "Who founded Vell?"; empty for other forms."""
    text = question.strip().rstrip("?").strip()
    first, _, rest = text.partition(" ")
    if not rest:
        return ""
    match first.lower():
        case "who":
            return f"the person who {rest}"
        case "which" | "what":
            second = rest.split(" ", 1)[0].lower()
            if second in {"is", "was", "are", "were"}:
                return rest.split(" ", 1)[1] if " " in rest else ""
            if second in {"did", "do", "does", "can", "has", "have", "would", "could", "will"}:
                return ""
            noun, _, rest = rest.partition(" ")
            return f"the {noun} that {rest}" if rest else ""
    return ""


_FRAMES = ("do you remember {}", "can you tell me {}", "I forgot {}", "tell me {}", "quick one: {}")


def reworded(question: str, chance: random.Random) -> str:
    """Return the question as people type it: in lower case, misspelt, within a phrase, or as is."""
    drawn = chance.random()
    if drawn < 0.1:
        question = question.lower().rstrip("?")
    elif drawn < 0.14:
        question = chance.choice(_FRAMES).format(question[:1].lower() + question[1:])
    if chance.random() < 0.06:
        words = question.split(" ")
        at = chance.randrange(len(words))
        if len(words[at]) > 4:
            letter = chance.randrange(1, len(words[at]) - 2)
            word = words[at]
            words[at] = word[:letter] + word[letter + 1] + word[letter] + word[letter + 2 :]
            question = " ".join(words)
    return question
