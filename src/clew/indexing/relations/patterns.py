"""Typed relations between two names of one sentence, from the words between and around them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, zip_longest
from typing import Any, NamedTuple, TypeAlias

from clew.indexing.ner.entity_types import (
    AFTER_NAME,
    DEMONYMS,
    PERSON_NOUNS,
    PLACES,
    ROLES,
    WORK_NOUNS,
    NameSpan,
    is_first_name,
    is_ordinary,
    is_person_shaped,
    type_of_description,
    type_of_name,
)
from clew.indexing.relations.phrases import (
    KINDS,
    OFFICES,
    RELATIONAL,
    SEATS,
    THINGS,
    Phrase,
    is_denied,
    opening_verb,
    phrase_between,
    read_phrase,
    read_validity,
    states_facts,
)
from clew.languages import read_patterns, read_word_lists, word_list
from clew.text import STOP_WORDS, entity_key
from clew.types import ExtractedRelation

_RE = read_patterns("clew.indexing.relations", "patterns.toml")["patterns"]


# What a pronoun that opens a sentence stands for: the subject of the sentence before it.
#
# By the preference of centering theory (Grosz, Joshi and Weinstein, 1995): what the last sentence
# was about is what the next one goes on about. It holds within a paragraph alone, and only where
# the last sentence names nothing else that the pronoun could mean; the subject of the document goes
# before other names.


class Antecedent(NamedTuple):
    """What a pronoun stands for: the topic so far, the subject of the document, or the speaker."""

    name: str
    start: int
    """Where the pronoun may stand: the start of a sentence, or of a speaker's words."""
    speaks: bool = False
    """Whether "I" means it; otherwise "he", "she", "it" and "the film" do."""
    entity_type: str = "name"
    is_described: bool = False
    """Whether "the film" means it, but no pronoun does."""


class TopicSentence(NamedTuple):
    """A sentence with its names in order, none within another."""

    start: int
    end: int
    names: Sequence[NameSpan]


def is_person(name: NameSpan | Antecedent) -> bool:
    """Whether "he" or "she" can mean it."""
    if name.entity_type != "name":
        return name.entity_type == "person"
    return is_person_shaped(name.name) or is_first_name(name.name)


def find_topics(
    text: str,
    sentences: Sequence[TopicSentence],
    subject: str | None,
    topic: NameSpan | None = None,
) -> Iterator[NameSpan | None]:
    """For each sentence, what the sentences before it in its paragraph are about; None if unclear.

    `subject` is what the document is about, `topic` what the first sentence goes on about.
    """
    end = 0
    for sentence in sentences:
        if _RE["paragraph"].search(text, end, sentence.start + 1):
            topic = None
        yield topic
        topic, end = _next_topic(text, sentence, topic, entity_key(subject or "")), sentence.end


def _next_topic(
    text: str, sentence: TopicSentence, topic: NameSpan | None, subject_key: str
) -> NameSpan | None:
    told = [name for name in sentence.names if name.entity_type != "date"]
    opening = _RE["before_subject"].match(text, sentence.start)
    start = opening.end() if opening else sentence.start
    pronoun = _RE["pronoun"].match(text, sentence.start)
    if told and told[0].start <= start:
        # What has an article is no person, whatever else it is.
        is_thing = text[sentence.start : start].lower() == "the " and told[0].entity_type == "name"
        topic = told[0]._replace(entity_type="thing") if is_thing else told[0]
    elif pronoun is None or (
        topic and pronoun["kind"] and type_of_description(pronoun["kind"]) != topic.entity_type
    ):
        return None
    if topic is None or entity_key(topic.name) == subject_key:
        return topic
    rivals = (
        is_person(topic) == is_person(name)
        for name in told
        if entity_key(name.name) != entity_key(topic.name)
    )
    return None if any(rivals) else topic


REGIONS = PLACES | {
    name.replace("-", " ")
    for name in word_list(read_word_lists("clew.indexing.relations", "phrases.toml")["regions"])
}
"""Well-known places in small letters, within which others lie."""


# What stands around names: whole or part of a longer one, listed with others, with dates between.
#
# A relation holds between things, so each name must be all that the words beside it speak of.


_LONGEST_MARKED = 80
"""Characters of a name between back quotes."""
MAY_FOLLOW = STOP_WORDS | word_list(
    # What may stand after a name without making it part of a longer one.
    "via per since until within without upon among along across toward towards alongside onto amid"
    " despite like unlike near around behind beyond whose although though whereas thus hence then"
    " today yesterday tomorrow tonight last next this recently later ago together alone too"
    " instead well twice who which whom respectively starring"
    " featuring including using making being called named known following based located directed"
    " written produced published released founded born aged plus versus et"
)
_DEGREES = word_list("phd ph.d b.a m.a mba bachelor master doctorate")
CODE_KINDS = word_list(read_word_lists("clew.indexing", "kinds.toml")["after"])
"""Nouns that say what a thing of code is: "module"."""


def without_role(name: NameSpan) -> NameSpan:
    """Without the role that it begins with: "Acme" of "CEO of Acme"."""
    role = _RE["role_of"].match(name.name)
    if role is None or role["role"].casefold() not in RELATIONAL:
        return name
    rest = name.name[role.end() :]
    start = name.end - len(rest)
    return NameSpan(start, name.end, rest, type_of_name(rest)) if start > name.start else name


def is_attribute(name: str) -> bool:
    """Whether it is no name by itself: "German", "French-Canadian", "Hamburg-based", "CEO"."""
    parts = name.casefold().split("-")
    if (parts[0] in RELATIONAL or parts[0] in _DEGREES) and len(parts) == 1:
        return True
    return parts[-1] in DEMONYMS or (len(parts) > 1 and parts[-1] in ("based", "born", "language"))


def gap_between(text: str, start: int, end: int, dates: Sequence[NameSpan]) -> str:
    """The words of a range without its dates: " in 1990 married " is " married "."""
    kept = []
    for date in dates:
        if start <= date.start < end:
            kept.append(_RE["date_cue"].sub(" ", text[start : date.start]).rstrip())
            start = max(start, date.end)
    gap = "".join(kept) + text[start:end]
    # What opens with a back quote and does not close with one is speech: "answered `Come on!'".
    is_speech = gap.endswith("`") and "`" not in text[end : end + _LONGEST_MARKED]
    return gap if is_speech else _RE["marks"].sub(" ", gap)


def is_whole(text: str, name: NameSpan, end: int, gap: str) -> bool:
    """Whether the name is what the words before it speak of, and not a part of that.

    It is not in "uses the Werkzeug | routing system", "sold its Linux | division" or "Bob | 's".
    """
    after = _RE["beside"].match(text, name.end, end)
    if after is None:
        return True
    word = after["word"]
    if word is None or (word not in MAY_FOLLOW and _RE["owned"].search(gap.rstrip())):
        return False
    return (
        word in MAY_FOLLOW
        or word in KINDS
        or (name.entity_type == "code" and word in CODE_KINDS)
        or word.endswith("ly")
    )


# What the words before, between and behind names say of them, by the rows of `around.toml`.
#
# "X is a lighthouse", "the engineer X", "A's brother B", "Rome, Italy", "the founder of X is Y".
# Hearst, "Automatic acquisition of hyponyms" (1992), for the copula.


CONCEPT = "concept"
"""Entity type of what is no name."""
IS_A = "is_a"
TIMELESS = frozenset(("located_in", "option_of"))
"""What holds whenever something happened there."""
Description: TypeAlias = tuple[NameSpan, str, NameSpan, float]
"""(head, relation type, tail, confidence)"""

_LISTS = read_word_lists("clew.indexing.relations", "phrases.toml")
_NO_NOUNS = word_list(_LISTS["vague_nouns"]) | DEMONYMS | word_list(_LISTS["participles"])
_IS_A = re.compile(
    rf"{AFTER_NAME}(?:is|was) an? (?P<what>(?:[\w'’-]+[ \n]){{0,7}}?[a-z]{{3,}})"
    r"(?=(?P<joined>,|[ \n](?:and|or)\b)|[.;:(]|$"
    rf"|[ \n](?:{'|'.join(_LISTS['ends_phrase'].split())})\b)"
)
_LONGEST_BESIDE = 80
"""Characters before a name that say what it is, and of what stands between two names."""


class _Row(NamedTuple):
    """What the words beside a name, or around two neighbours, say; see `around.toml`."""

    relation_type: str
    left: tuple[str, ...]
    right: tuple[str, ...] = ()
    confidence: float = 0.75
    inverse: bool = False
    before: re.Pattern[str] = re.compile("")
    between: re.Pattern[str] = re.compile("")
    after: re.Pattern[str] = re.compile("")


_NOUNS = {
    "work": WORK_NOUNS | {"paper", "article", "pamphlet"},
    "part": CODE_KINDS | word_list(_LISTS["part_nouns"]),
    "role": RELATIONAL | PERSON_NOUNS | ROLES,
    "office": RELATIONAL | OFFICES,
    "shared": THINGS,
    "seat": SEATS,
    "trade": PERSON_NOUNS - RELATIONAL,
    "thing": KINDS - PERSON_NOUNS - {"order", "state", "party", "court", "force", "record"},
    "demonym": DEMONYMS,
    "tool": CODE_KINDS,
    "known": word_list(_LISTS["named_kinds"]),
    "shouted": word_list(_LISTS["named_kinds"]) | word_list(_LISTS["shouted_kinds"]),
    "follows": MAY_FOLLOW,
}
_EXPANDED = {
    f"<{name}>": "|".join(re.escape(n).replace("\\-", "[ -]") for n in sorted(nouns, key=len)[::-1])
    for name, nouns in _NOUNS.items()
}


def _read_row(row: dict[str, Any]) -> _Row:
    read = dict(row)
    for part in {"before", "between", "after"} & row.keys():
        pattern = row[part].replace("\n", "")
        for name, nouns in _EXPANDED.items():
            pattern = pattern.replace(name, nouns)
        read[part] = re.compile(pattern)
    for end in {"left", "right"} & row.keys():
        read[end] = tuple(row[end].split())
    return _Row(**read)


_ROWS = read_word_lists("clew.indexing.relations", "around.toml")
_OF_ONE = tuple(map(_read_row, _ROWS["beside"]))
_OF_TWO = tuple(map(_read_row, _ROWS["between"]))


def find_descriptions(
    text: str, start: int, end: int, names: Sequence[NameSpan]
) -> Iterator[Description]:
    """What the sentence `text[start:end]` says that its names are."""
    for name in names:
        if noun := _noun_beside(text, start, end, name):
            yield name, IS_A, NameSpan(name.end, name.end, noun, CONCEPT), 0.75
    first = names[0]
    if text[start : first.start].casefold().strip(' "“‘*_') in ("", "the") and (
        concept := concept_of(text[:end], first.end, is_person(first))
    ):
        yield first, IS_A, NameSpan(first.end, first.end, concept, CONCEPT), 0.8
    for left, right in pairwise(names):
        if right.start - left.end <= _LONGEST_BESIDE:
            yield from said_of_two(text, start, end, left, right)


def concept_of(text: str, position: int = 0, is_person: bool = False) -> str | None:
    """What " is a 2016 Indian drama film directed by Y" says at a position: "drama film"."""
    said = _IS_A.match(text, position)
    if said is None:
        return None
    *others, noun = said["what"].split()
    if noun in _NO_NOUNS or noun.endswith(("ed", "ing", "ly", "ous", "ful")):
        return None
    is_listed = said["joined"] and noun not in (PERSON_NOUNS if is_person else KINDS)
    if is_listed or not STOP_WORDS.isdisjoint((*others, noun)):
        return None
    modifier = others[-1] if others else ""
    is_compound = _RE["modifier"].fullmatch(modifier) and modifier not in _NO_NOUNS
    return f"{modifier} {noun}" if is_compound else noun


def _noun_beside(text: str, start: int, end: int, name: NameSpan) -> str | None:
    """The noun of "the engineer Corwin Hale", "a company called X", "the dpkg command"."""
    kinds = _kinds(name)
    for row in _OF_ONE:
        if _fits(kinds, row.left) and (nouns := _around(text, start, end, row, name, name)):
            return nouns["noun"]
    return None


def said_of_two(
    text: str, start: int, end: int, left: NameSpan, right: NameSpan
) -> Iterator[Description]:
    """What two neighbours are to each other by the words before, between and behind them."""
    gap, kinds = text[left.end : right.start], (_kinds(left), _kinds(right))
    for row in _OF_TWO:
        if not (_fits(kinds[0], row.left) and _fits(kinds[1], row.right)):
            continue
        said = row.between.fullmatch(gap)
        around = _around(text, start, end, row, left, right) if said else None
        if said is None or around is None:
            continue
        if row.relation_type != "part_of" or is_whole(text, right, end, ""):
            noun = (said.groupdict() | around).get("noun") or ""
            relation_type = re.sub(r"[ -]", "_", row.relation_type.format(noun=noun.casefold()))
            head, tail = (right, left) if row.inverse else (left, right)
            yield head, relation_type, tail, row.confidence


def _around(
    text: str, start: int, end: int, row: _Row, left: NameSpan, right: NameSpan
) -> dict[str, str] | None:
    """The groups of what a row wants before the first name and behind the second one."""
    first = max(start, left.start - _LONGEST_BESIDE)
    before = row.before.search(text, first, left.start)
    after = row.after.match(text, right.end, end) if before else None
    return before.groupdict() | after.groupdict() if before and after else None


def _kinds(name: NameSpan) -> set[str]:
    """What a name is, by its type and beyond it."""
    kinds = {"option" if name.name.startswith("--") else name.entity_type}
    kinds |= {"human"} if is_person(name) else set()
    if name.name[0].isupper() and name.name.replace(" ", "").isalpha():
        kinds.add("shouted" if name.name.isupper() else "capital")
    return kinds | ({"region"} if name.name.casefold() in REGIONS else set())


def _fits(kinds: set[str], wanted: tuple[str, ...]) -> bool:
    """Whether a name is one of those wanted, or any, and none of those unwanted ("!place")."""
    unwanted = {kind[1:] for kind in wanted if kind[0] == "!"}
    others = [kind for kind in wanted if kind[0] != "!"]
    return kinds.isdisjoint(unwanted) and not (others and kinds.isdisjoint(others))


# Relations from the words between two names.


LONGEST_GAP = 70
"""Characters between two names that are read at all."""
PRONOUN_FACTOR = 0.8
"""What a relation's confidence is multiplied with where a pronoun stands for its head."""
_IS = re.compile(rf"{AFTER_NAME}(?:is|was|are|were) (?:an?|the|one of the) ")
_GOVERNING = (" of ", " in ", " at ", " by ", " from ", " with ", " to ", " for ", " on ", " near ")
_SUBJECT = re.compile(
    r"(?:(?P<person>he|she)|it|(?:the|this) (?P<kind>"
    + "|".join(sorted(KINDS - PERSON_NOUNS))
    + r"))(?P<have>['’]ve)?\s+(?=\w)",
    re.IGNORECASE,
)
_FINITE = frozenset(("is", "was", "are", "were", "has", "had", "have", "will"))


class Owner(NamedTuple):
    """What an observation was told of."""

    name: str
    entity_type: str


class _Candidate(NamedTuple):
    head: str
    phrase: Phrase
    tail: NameSpan
    start: int
    """Where its first name, or the pronoun for it, begins."""

    def key(self) -> tuple[str, str, str]:
        """Candidates with the same key are the same."""
        return entity_key(self.first), self.phrase.relation_type, entity_key(self.last)

    @property
    def first(self) -> str:
        return self.tail.name if self.phrase.inverse else self.head

    @property
    def last(self) -> str:
        return self.head if self.phrase.inverse else self.tail.name


def find_relations(
    text: str,
    sentence: tuple[int, int, int],
    names: Sequence[NameSpan],
    antecedents: Sequence[Antecedent],
) -> Iterator[ExtractedRelation]:
    """Relations between neighbours among `names` (ordered, none within another), each once.

    `sentence` is its range and its ordinal. One of `antecedents` stands for a pronoun that
    opens it. A relation holds when its sentence says so; the date of its text is none of its own.
    """
    start, end, ordinal = sentence
    if not states_facts(text[start:end]):
        return
    seen: set[tuple[str, str, str]] = set()
    dates = [name for name in names if name.entity_type == "date"]
    named = [without_role(name) for name in names if name.entity_type != "date"]
    candidates = sorted(
        _candidates(text, start, end, named, dates, antecedents), key=lambda c: c.tail.start
    )
    for candidate, following in zip_longest(candidates, candidates[1:]):
        key = candidate.key()
        if key in seen or key[0] == key[2]:
            continue
        seen.add(key)
        relation_type, tail = candidate.phrase.relation_type, candidate.tail
        # A date beside it is that of something else: "in Rome, Italy, in 2004".
        is_apposed = relation_type == IS_A and not _IS.match(text, tail.start, end)
        validity = None
        if not is_apposed and relation_type not in TIMELESS:
            limit = end
            if following:
                is_behind = following.start >= tail.end
                limit = following.start if is_behind else following.tail.start
            validity = read_validity(text, dates, candidate.start, tail, limit)
        yield ExtractedRelation(
            head=candidate.first,
            tail=candidate.last,
            relation_type=relation_type,
            sentence=ordinal,
            confidence=candidate.phrase.confidence,
            is_causal=candidate.phrase.is_causal,
            valid_from=validity.valid_from if validity else None,
            valid_until=validity.valid_until if validity else None,
            tail_type=CONCEPT if tail.entity_type == CONCEPT else "name",
        )


def find_owned_relations(
    text: str, sentence: tuple[int, int, int], names: Sequence[NameSpan], owner: Owner
) -> Iterator[ExtractedRelation]:
    """What the verbs without a subject state of the owner: the same as behind the owner's name.

    "Moved to Bilbao." says what "Amparo moved to Bilbao." does, and so does "Sold up and moved to
    Bilbao."
    """
    start, end, ordinal = sentence
    if not states_facts(text[start:end]):
        return
    for first, last in _predicates(text, opening_word(text, start), end, names, owner):
        yield from _said_of(owner, text, (first, last, ordinal), names)


def _said_of(
    owner: Owner, text: str, predicate: tuple[int, int, int], names: Sequence[NameSpan]
) -> Iterator[ExtractedRelation]:
    """What a predicate states where the owner's name stands before it."""
    start, end, ordinal = predicate
    said = f"{owner.name} {text[start : start + 1].lower()}{text[start + 1 : end]}"
    length = len(owner.name)
    if _RE["predicate"].match(said, length) is None:
        return
    moved = length + 1 - start
    kept = (name for name in names if start <= name.start < end)
    spans = [name._replace(start=name.start + moved, end=name.end + moved) for name in kept]
    subject, key = NameSpan(0, length, owner.name, owner.entity_type), entity_key(owner.name)
    for one in find_relations(said, (0, len(said), ordinal), [subject, *spans], ()):
        if key in (entity_key(one.head), entity_key(one.tail)):
            yield one


def _predicates(
    text: str, start: int, end: int, names: Sequence[NameSpan], owner: Owner
) -> Iterator[tuple[int, int]]:
    """Where a sentence says something of the owner without its name: "left A | and joined B".

    All of it, where it has no subject and one verb; what follows the first verb, where it opens
    with the owner's name, or as the first one with a pronoun for it.
    """
    key, told = entity_key(owner.name), [name for name in names if name.entity_type != "date"]
    subject = next((name for name in told if name.start == start), None)
    at = start
    if subject is not None and entity_key(subject.name) == key:
        at = subject.end + 1
    elif opening_word(text, 0) == start and (opening := _SUBJECT.match(text, start, end)):
        meant = Antecedent(owner.name, start, entity_type=owner.entity_type)
        at = opening.end() if _means(opening, meant) else start
    if (at == start and subject is not None) or any(
        name.start >= at and entity_key(name.name) == key for name in told
    ):
        return  # another one is its subject, or it speaks of the owner otherwise
    verbs = [at, *_further_verbs(text, at, end)]
    for first, last in pairwise([*verbs, end]):
        if first > at or at == start:
            yield first, last


def _further_verbs(text: str, start: int, end: int) -> Iterator[int]:
    """Where each further verb of the subject of the first one begins."""
    if not opening_verb(text[start:end]):
        return
    for joined in _RE["joins_verbs"].finditer(text, start, end):
        before = text[start : joined.start()]
        if _RE["other_clause"].search(before):
            return  # "knows Iker, who left A and joined B"
        verb = opening_verb(text[joined.end() : end])
        is_free = joined.group() == ", " or is_denied(before)
        if verb == "finite" or (verb and not is_free):
            yield joined.end()


def opening_word(text: str, start: int) -> int:
    """Where the first word of a sentence is, behind the mark of an item of a list."""
    mark = _RE["opening"].match(text, start)
    return mark.end() if mark else start


def without_opening_verb(text: str, end: int, name: NameSpan) -> NameSpan | None:
    """A name that opens a sentence without the verb that it seems to begin with, if it does so.

    "Married Iker in June" names Iker, "United Airlines pilot" an airline.
    """
    verb, _, rest = text[name.start : name.end].partition(" ")
    gap = f" {verb.casefold()} "
    if not rest or not is_ordinary(verb) or read_phrase(gap) is None:
        return None
    found = NameSpan(name.end - len(rest), name.end, rest, type_of_name(rest))
    after = _RE["following"].match(text, name.end, end)
    word = after["word"] if after else ""
    goes_on = word in _FINITE | KINDS or read_phrase(f" {word} ")
    return None if goes_on or not is_whole(text, found, end, gap) else found


def _candidates(
    text: str,
    start: int,
    end: int,
    names: Sequence[NameSpan],
    dates: Sequence[NameSpan],
    antecedents: Sequence[Antecedent],
) -> Iterator[_Candidate]:
    """What is said of neighbours; the sentence's subject is the head where that is meant."""
    told = [n for n in names if not is_attribute(n.name)]
    if not told:
        return
    for antecedent in antecedents:
        yield from _about_antecedent(text, told, dates, antecedent)
    for head, relation_type, tail, confidence in find_descriptions(text, start, end, told):
        yield _Candidate(head.name, Phrase(relation_type, confidence), tail, head.start)
    yield from _of_neighbours(text, start, end, told, dates)


def _of_neighbours(
    text: str,
    start: int,
    end: int,
    told: Sequence[NameSpan],
    dates: Sequence[NameSpan],
) -> Iterator[_Candidate]:
    """What the words between two neighbours say."""
    object_at = -1  # where the last object of an active verb begins
    for left, right in pairwise(told):
        gap = gap_between(text, left.end, right.start, dates)
        if not 3 < len(gap) <= LONGEST_GAP or gap[0] not in " \n,'’(":
            continue
        is_object = left.start == object_at and _RE["verb_first"].match(gap)
        if is_object or _is_governed(text, start, left, gap):
            continue
        # "The Rockets" are no person, whatever else they are.
        article = text[max(0, left.start - 4) : left.start].lower() == "the "
        is_thing = article and left.entity_type == "name"
        phrase = phrase_between(gap, "thing" if is_thing else left.entity_type, right.entity_type)
        if phrase and is_whole(text, right, end, gap):
            object_at = right.start
            yield _Candidate(left.name, phrase, right, left.start)


def _about_antecedent(
    text: str, told: Sequence[NameSpan], dates: Sequence[NameSpan], antecedent: Antecedent
) -> Iterator[_Candidate]:
    """What a sentence states of an antecedent, where a pronoun for it opens the sentence."""
    first = next((name for name in told if name.start >= antecedent.start), None)
    if first is None:
        return
    start = _behind_date(text, antecedent.start, dates)
    opening = (_RE["speaker"] if antecedent.speaks else _SUBJECT).match(text, start, first.start)
    if opening is None or not _means(opening, antecedent):
        return
    kind = "person" if opening["person"] else "thing"
    words = gap_between(text, opening.end() - 1, first.start, dates)
    gap = (" have" if opening["have"] else "") + words
    phrase = phrase_between(gap, kind, first.entity_type)
    if phrase and is_whole(text, first, len(text), gap):
        phrase = phrase._replace(confidence=round(phrase.confidence * PRONOUN_FACTOR, 3))
        yield _Candidate(antecedent.name, phrase, first, opening.start())


def _means(opening: re.Match[str], antecedent: Antecedent) -> bool:
    """Whether the pronoun, or "the film", can mean the antecedent."""
    if antecedent.speaks:
        return True
    if kind := opening["kind"]:
        return type_of_description(kind.casefold()) == antecedent.entity_type
    return not antecedent.is_described and bool(opening["person"]) == is_person(antecedent)


def _behind_date(text: str, start: int, dates: Sequence[NameSpan]) -> int:
    """Where a sentence begins, but for a date: "In 2019 | she moved to Rome"."""
    first = next((date for date in dates if date.start >= start), None)
    if first is None or not _RE["date_first"].fullmatch(text, start, first.start):
        return start
    gap = _RE["after_date"].match(text, first.end)
    return gap.end() if gap else first.end


def _is_governed(text: str, start: int, name: NameSpan, gap: str) -> bool:
    """Whether the name depends on what stands before it: "the mother *of X* was born in Y"."""
    if gap.lstrip(" ,").startswith(("which ", "who ", "that ")):
        return False
    before = text[max(start, name.start - 30) : name.start].lower().removesuffix("the ")
    if before.endswith("/") or _RE["within_clause"].search(before):
        return True
    return before.endswith(_GOVERNING) or (gap.startswith(",") and before.endswith(" and "))
