"""Invented notes, mails, chats, minutes and tables, with what their owners ask of them.

The other sources are encyclopaedic prose; people keep lists, half sentences and tables, ask in the
first person, and ask about what another note says. A fact is a relation between two things, drawn
from `notes.toml`; a document tells a handful of facts in one of several forms. Beside the right
passage stand one that tells the fact of something else, and one that tells something else of the
thing. Two facts that share a person or a firm make a question of two hops, whose thread is the
sentence of the first.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from training.reader.examples import Group, Passage

SOURCE = "notes"
OPEN, CLOSE = "\x01", "\x02"
"""Around the answer, until its place is known."""

TOLD = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
WORDS: Mapping[str, list[str]] = TOLD["words"]
CHAINED = 0.35
"""Share of the questions that take two hops."""
FIRST_NAME, NAMESAKE = 0.2, 0.3
"""Share of the questions that call a person by the first name, and of the passages in their way
that speak of another one of a like name."""

Draw = random.Random


def person(d: Draw) -> str:
    """Return a name, now and then a first name alone."""
    return _word(d, "first") if d.random() < 0.3 else f"{_word(d, 'first')} {_word(d, 'last')}"


def firm(d: Draw) -> str:
    """Return the name of a firm."""
    return (
        _word(d, "firm") if d.random() < 0.3 else f"{_word(d, 'firm')} {_word(d, 'kind_of_firm')}"
    )


def maker(d: Draw) -> str:
    """Return who does work for others."""
    return person(d) if d.random() < 0.6 else firm(d)


def date(d: Draw) -> str:
    """Return a day in one of the forms in use."""
    day, month, year = d.randint(1, 28), d.randint(1, 12), d.randint(2015, 2027)
    name = WORDS["month"][month - 1]
    forms = (
        f"{day} {name} {year}",
        f"{day} {name}",
        f"{name} {day}",
        f"{year}-{month:02}-{day:02}",
        f"{day}.{month}.{year}",
        f"{_word(d, 'day')} {day} {name}",
        f"{name} {year}",
    )
    return d.choice(forms)


def clock(d: Draw) -> str:
    """Return a time of day."""
    hour, minute = d.randint(7, 21), d.choice((0, 15, 30, 45))
    return d.choice(
        (f"{hour}:{minute:02}", f"{hour % 12 or 12}.{minute:02} {'am' if hour < 12 else 'pm'}")
    )


def phone(d: Draw) -> str:
    """Return a number to call."""
    return d.choice(("0{} {}", "+4{} {}", "{}-{}")).format(
        d.randint(10, 999), d.randint(100_000, 9_999_999)
    )


def price(d: Draw) -> str:
    """Return an amount of money."""
    amount = d.choice((d.randint(5, 99), d.randint(100, 999), d.randint(1, 40) * 250))
    return d.choice(("{} euros", "{} EUR", "£{}", "${}", "{} crowns", "€{}")).format(amount)


def code(d: Draw) -> str:
    """Return a number of a booking, a policy, a door."""
    letters = "".join(d.choice("ABCDEFGHKLMNPRSTUVXZ") for _ in range(d.randint(0, 3)))
    return f"{letters}{d.choice(('', '-')) if letters else ''}{d.randint(1000, 999_999)}"


def email(d: Draw) -> str:
    """Return an address to write to."""
    return f"{_word(d, 'first')}.{_word(d, 'last')}@{_word(d, 'firm')}.example".lower()


MADE: Mapping[str, Callable[[Draw], str]] = {
    "person": person,
    "firm": firm,
    "maker": maker,
    "date": date,
    "time": clock,
    "phone": phone,
    "price": price,
    "code": code,
    "measure": lambda d: f"{d.randint(20, 400)} {d.choice(('cm', 'mm', 'metres'))}",
    "minutes": lambda d: f"{d.randint(15, 180)} minutes",
    "age": lambda d: str(d.randint(1, 96)),
    "number": lambda d: str(d.randint(3, 240)),
    "venue": lambda d: f"{_word(d, 'building')} in {_word(d, 'town')}",
    "email": email,
}
"""What is made rather than drawn from words."""


def _word(d: Draw, name: str) -> str:
    return d.choice(WORDS[name])


def thing(d: Draw, name: str) -> str:
    """Return something of the kind that a fact names."""
    return MADE[name](d) if name in MADE else _word(d, name)


@dataclass(frozen=True, slots=True)
class Fact:
    """How a relation is said and asked for: see `notes.toml`."""

    subject: str
    object: str
    label: str
    says: Sequence[str]
    asks: Sequence[str]
    described: Sequence[str] = ()


FACTS = [Fact(**one) for one in TOLD["fact"]]


@dataclass(frozen=True, slots=True)
class Told:
    """A fact of two things."""

    fact: Fact
    subject: str
    """Its names, apart by |."""
    object: str

    def named(self, d: Draw) -> str:
        """Return one of the names of the subject."""
        return d.choice(self.subject.split("|"))

    def asked_of(self, d: Draw) -> str:
        """Return what a question calls the subject: a person now and then by the first name."""
        first, _, last = self.subject.partition(" ")
        is_person = self.fact.subject == "person" and last
        return first if is_person and d.random() < FIRST_NAME else self.named(d)

    def sentence(self, d: Draw, *, marked: bool = False) -> str:
        """Return one of its sentences, the object marked where that is wanted."""
        said = f"{OPEN}{self.object}{CLOSE}" if marked else self.object
        text = d.choice(self.fact.says).format(s=self.named(d), o=said)
        first = 1 if text[0] == OPEN else 0
        return text[:first] + text[first].upper() + text[first + 1 :]

    def question(self, d: Draw, subject: str = "") -> str:
        """Return one of its questions; of a subject that is described."""
        asks = self.fact.asks
        chosen = d.choice([one for one in asks if one[0] == "*"] if subject else asks)
        return chosen.lstrip("*").format(s=subject or self.asked_of(d))


def told(d: Draw, fact: Fact | None = None, subject: str = "") -> Told:
    """Return a fact of things that are drawn."""
    fact = fact or d.choice(FACTS)
    subject = subject or thing(d, fact.subject)
    other = _object(d, fact)
    while other.split()[0] == subject.split()[0]:
        other = _object(d, fact)
    return Told(fact, subject, other)


def _object(d: Draw, fact: Fact) -> str:
    return d.choice(thing(d, fact.object).split("|"))


def document(d: Draw, facts: Sequence[Told], asked: Told | None = None) -> Passage:
    """Return the facts as a passage in a form that is drawn; the answer is that of `asked`."""
    facts = list(facts)
    d.shuffle(facts)
    form = d.choice((_prose, _prose, _bullets, _chat, _mail, _minutes, _table))
    text = form(d, facts, asked)
    start, end = text.find(OPEN), text.find(CLOSE)
    text = text.replace(OPEN, "").replace(CLOSE, "")
    answer = (start, end - 1) if start >= 0 else None
    title = d.choice(
        (
            _word(d, "heading"),
            f"{_word(d, 'heading')} {date(d)}",
            _word(d, "heading").lower() + ".md",
        )
    )
    return Passage(text, title, answer is not None, answer)


def _lines(d: Draw, facts: Sequence[Told], asked: Told | None) -> list[str]:
    lines = [one.sentence(d, marked=one is asked) for one in facts]
    for _ in range(d.randint(0, 4)):
        lines.insert(d.randint(0, len(lines)), _word(d, "filler"))
    return lines


def _prose(d: Draw, facts: Sequence[Told], asked: Told | None) -> str:
    head = f"# {_word(d, 'heading')}\n\n" if d.random() < 0.3 else ""
    return head + " ".join(_lines(d, facts, asked))


def _bullets(d: Draw, facts: Sequence[Told], asked: Told | None) -> str:
    found = []
    for one in facts:
        said = f"{OPEN}{one.object}{CLOSE}" if one is asked else one.object
        subject = one.named(d).removeprefix("the ")
        terse = f"{subject}, {one.fact.label}: {said}", f"{subject} - {one.fact.label} {said}"
        drawn = d.random() < 0.6
        found.append(d.choice(terse) if drawn else one.sentence(d, marked=one is asked).rstrip("."))
    found += d.sample(WORDS["filler"], d.randint(0, 2))
    mark = d.choice("-*•")
    return f"## {_word(d, 'heading')}\n" + "\n".join(f"{mark} {one}" for one in found)


def _chat(d: Draw, facts: Sequence[Told], asked: Told | None) -> str:
    people = [_word(d, "first") for _ in range(d.randint(2, 3))]
    stamp = d.choice(("", f"{date(d)}, {clock(d)} - ", f"[{clock(d)}] "))
    lines = [f"{stamp}{d.choice(people)}: {one}" for one in _lines(d, facts, asked)]
    return "\n".join(lines)


def _mail(d: Draw, facts: Sequence[Told], asked: Told | None) -> str:
    by, to = person(d), person(d)
    head = f"From: {by}\nTo: {to}\nDate: {date(d)}\nSubject: {_word(d, 'heading')}\n\n"
    return (
        f"{head}Hi {to.split()[0]},\n"
        + " ".join(_lines(d, facts, asked))
        + f"\nBest, {by.split()[0]}"
    )


def _minutes(d: Draw, facts: Sequence[Told], asked: Told | None) -> str:
    head = f"Present: {', '.join(person(d) for _ in range(d.randint(2, 5)))}\n"
    lines = _lines(d, facts, asked)
    return head + "\n".join(f"{n}. {one}" for n, one in enumerate(lines, 1))


def _table(d: Draw, facts: Sequence[Told], asked: Told | None) -> str:
    """The fact asked for among others of its kind, a row each; facts of other kinds below."""
    main = asked or facts[0]
    rows = [main] + [told(d, main.fact) for _ in range(d.randint(2, 5))]
    others = [one for one in FACTS if one.subject == main.fact.subject and one is not main.fact]
    more = d.choice(others) if others and d.random() < 0.6 else None
    d.shuffle(rows)
    head = ["name", main.fact.label, *([more.label] if more else [])]
    found = [head]
    for one in rows:
        said = f"{OPEN}{one.object}{CLOSE}" if one is asked else one.object
        found.append(
            [one.named(d).removeprefix("the "), said, *([_object(d, more)] if more else [])]
        )
    sign = d.choice((" | ", ", ", "\t"))
    text = "\n".join(sign.join(row) for row in found)
    rest = [one for one in facts if one is not main]
    return text + "\n\n" + " ".join(_lines(d, rest, None))


def groups(d: Draw, number: int) -> Iterator[Group]:
    """Yield questions with their passages, a third of them of two hops."""
    for _ in range(number):
        yield _chained(d) if d.random() < CHAINED else _single(d)


def _others(d: Draw, without: Sequence[str] = ()) -> list[Told]:
    """A few facts that do not speak of these things."""
    found = [told(d) for _ in range(d.choice((2, 4, 6, 12)))]
    return [one for one in found if one.subject not in without]


def _single(d: Draw) -> Group:
    asked = told(d)
    question = asked.question(d)
    right = document(d, [asked, *_others(d, [asked.subject])], asked)
    return Group(question, (right, *_wrong(d, asked, question)), SOURCE, (asked.object,))


def _wrong(d: Draw, asked: Told, question: str) -> list[Passage]:
    """Passages that tell the fact of something else, or something else of the thing."""
    elsewhere = told(d, asked.fact)
    first, _, last = asked.subject.partition(" ")
    has_namesake = asked.fact.subject == "person" and last and asked.subject in question
    if has_namesake and d.random() < NAMESAKE:
        elsewhere = told(d, asked.fact, f"{first} {_word(d, 'last')}")
    while elsewhere.subject == asked.subject:
        elsewhere = told(d, asked.fact)
    kinds = [one for one in FACTS if one.subject == asked.fact.subject and one is not asked.fact]
    apart = [one for one in kinds if not set(one.asks) & set(asked.fact.asks)]
    found = [document(d, [elsewhere, *_others(d, [asked.subject])])]
    if apart:
        beside = told(d, d.choice(apart), asked.subject)
        found.append(document(d, [beside, elsewhere, *_others(d, [asked.subject])]))
    return d.sample(found, d.randint(1, len(found)))


def _chained(d: Draw) -> Group:
    """A question about what is only described; another passage says what that is."""
    # A description of a person or a firm, and what a fact may be asked of.
    while True:
        first = d.choice([one for one in FACTS if one.described])
        fitting = [
            one
            for one in FACTS
            if any(ask[0] == "*" for ask in one.asks)
            and (one.subject == first.object or first.object == "maker")
        ]
        lead = told(d, first)
        if first.object == "maker":
            is_firm = lead.object.split()[0] in WORDS["firm"]
            fitting = [one for one in fitting if one.subject == ("firm" if is_firm else "person")]
        if fitting:
            break
    asked = told(d, d.choice(fitting), lead.object)
    described = d.choice(first.described).format(s=lead.named(d))
    question = asked.question(d, described)
    step = document(d, [lead, *_others(d, [lead.object, lead.subject])], lead)
    # It helps, though the answer does not stand there.
    step = replace(step, helps=True, answer=None)
    sentence = lead.sentence(d)
    thread = f"{step.title}: {sentence}" if d.random() < 0.7 else sentence
    right = replace(document(d, [asked, *_others(d, [asked.subject])], asked), thread=thread)
    wrong = [replace(one, thread=thread) for one in _wrong(d, asked, question)]
    wrong += _misled(d, lead, asked)
    if d.random() < 0.3:
        wrong.append(
            replace(
                document(d, _others(d, [asked.subject, lead.subject]) or [told(d)]), helps=False
            )
        )
    return Group(question, (right, step, *wrong), SOURCE, (asked.object,))


def _misled(d: Draw, lead: Told, asked: Told) -> Iterator[Passage]:
    """Yield the same fact of somebody else, behind another sentence about what leads to the right.

    "The engineer of the tower was A" leads to A's teacher, and "its builder" was asked for.
    """
    for fact in d.sample(FACTS, len(FACTS)):
        if (fact.subject, fact.object) == (lead.fact.subject, lead.fact.object):
            other = told(d, fact, lead.subject)
            if other.object != lead.object and fact is not lead.fact:
                same = told(d, asked.fact, other.object)
                text = document(d, [same, *_others(d, [lead.object])])
                yield replace(text, thread=other.sentence(d))
                return
