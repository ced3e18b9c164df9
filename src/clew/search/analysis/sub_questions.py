"""Parts of a question: the several things that it asks for, and the two sides of a comparison.

Splitting goes by the form of the words (English) and is careful: a part that refers back to
another ("… and when did she die?") cannot be asked alone, and what is in doubt stays one question.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clew.text import one_line, sentences

if TYPE_CHECKING:
    from collections.abc import Sequence


MAX_PARTS = 8
"""A question of more parts stays whole."""
_LEAST_WORDS = 3
_LONGEST_NAME = 8

_ASKING = "who|whom|whose|what|when|where|which|why|how"
_DOING = "did|does|do"
_OPENING = re.compile(
    rf"(?:(?:in|on|at|by|for|from|to|of|with|under|during|about)\s+)?(?:{_ASKING})\b"
    rf"|(?:{_DOING}|is|are|was|were|has|have|had|can|could|will|would|should)\b",
    re.IGNORECASE,
)
_JOINT = re.compile(
    rf";\s*+(?:and\s++)?|,\s*+and\s++(?=(?:{_ASKING})\b)"
    rf"|(?<!\s)\s++and\s++(?=(?:{_ASKING})\s++(?:{_DOING})\b)",
    re.IGNORECASE,
)
_REFERRING = re.compile(
    r"\b(?:he|she|it|its|they|them|their|theirs|him|his|her|hers|this|that|these|those|there|then"
    r"|same|one|ones|other|others|latter|former|also|else|so|too)\b",
    re.IGNORECASE,
)
_INNER = frozenset(
    "a an and at by da de del der di du for from in la le of on the to van von".split()
)
_LIST = re.compile(r",?(?<!\s)\s++or\s++|,\s++")

_SIDE = r"[^,;:?!.\n]{2,100}?"
_CLOSED = r"(?= ?(?:[,;:?!.]|$)| (?:differ|compare|in terms|with respect|as to|regarding|when)\b)"
_COMPARISONS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"\b(?:compare|contrast|comparing) (?P<first>{_SIDE}) (?:and|with|to|against|versus|vs\.?)"
        rf" (?P<second>{_SIDE}){_CLOSED}",
        rf"\b(?:differences?|comparison|distinction|contrast) between (?P<first>{_SIDE}) and"
        rf" (?P<second>{_SIDE}){_CLOSED}",
        rf"\bhow (?:does|do|did|is|are|was|were) (?P<first>{_SIDE}) (?:differ(?:ent)? from"
        rf"|compare (?:to|with)) (?P<second>{_SIDE}){_CLOSED}",
        rf"\bhow do(?:es)? (?P<first>{_SIDE}) and (?P<second>{_SIDE}) (?:differ|compare)\b",
        # From where a clause begins: elsewhere every place would be tried.
        rf"(?<![^,;:?!.\n])(?P<first>{_SIDE}) (?:versus|vs\.?|compared (?:to|with)|as opposed to)"
        rf" (?P<second>{_SIDE}){_CLOSED}",
    )
)
_LINKS = frozenset("of in by at for from on".split())
"""What stands before the name that a side ends with."""


def split_question(question: str) -> tuple[str, ...]:
    """The parts of a question that asks for several things; else the question alone.

    Parts are sentences that each ask, clauses joined by ";" or "and who …", the two sides of
    "both X and Y", and the names of a choice at the end: "Which is older, X or Y?".
    """
    whole = question.strip()
    for rule in (_by_sentence, _by_clause, _by_both, _by_choice):
        parts = rule(whole)
        if 1 < len(parts) <= MAX_PARTS:
            return tuple(parts)
    return (whole,)


def compared_sides(question: str) -> tuple[str, str] | None:
    """The two sides of a comparison, each as a question of its own; None where it is none.

    "Compare the harbour of Vell and that of Ostby" has the sides "the harbour of Vell" and "that of
    Ostby". What stands around both is asked of each, and so is what only the first side says: "the
    fees of Vell and Ostby" are "the fees of Vell" and "the fees of Ostby".
    """
    question = one_line(question)
    found = next(filter(None, (form.search(question) for form in _COMPARISONS)), None)
    if found is None:
        return None
    first, second = found["first"].split(), found["second"].split()
    links = [place for place, word in enumerate(first) if word.lower() in _LINKS]
    if links and not _LINKS.intersection(second):
        second = [*first[: links[-1] + 1], *second]
    before, behind = (
        question[: found.start()].split(),
        question[found.end() :].strip(" ?.!,").split(),
    )
    return " ".join([*before, *first, *behind]), " ".join([*before, *second, *behind])


def _by_sentence(question: str) -> list[str]:
    """Sentences that all ask."""
    parts = [question[start:end] for start, end in sentences(question)]
    asks = all(part.endswith("?") and _OPENING.match(part) for part in parts)
    return parts if asks and _stand_alone(parts) else []


def _by_clause(question: str) -> list[str]:
    parts = [(part.strip().rstrip("?,; ") + "?") for part in _JOINT.split(question)]
    asks = all(_OPENING.match(part) for part in parts)
    return parts if asks and _stand_alone(parts) else []


def _stand_alone(parts: Sequence[str]) -> bool:
    """Whether each is long enough and none but the first can refer to another."""
    long_enough = all(len(part.split()) >= _LEAST_WORDS for part in parts)
    return long_enough and not any(_REFERRING.search(part) for part in parts[1:])


def _by_both(question: str) -> list[str]:
    """One question of X and one of Y for "Were both X and Y …"."""
    words = question.split()
    at = next((i for i, word in enumerate(words) if word.lower() == "both"), len(words))
    # Where the run of names that begins at `start` ends.
    start = at + 1
    end = start
    for place in range(start, len(words)):
        if _is_capital(words[place]):
            end = place + 1
        elif words[place] not in _INNER:
            break
    end = end
    names = words[at + 1 : end]
    if names.count("and") != 1 or any(name[-1] in ",;:" for name in names):
        return []
    middle = names.index("and")
    sides = [names[:middle], names[middle + 1 :]]
    if not all(_is_name(" ".join(side)) for side in sides):
        return []
    return [" ".join([*words[:at], *side, *words[end:]]) for side in sides]


def _by_choice(question: str) -> list[str]:
    """One question for each name of "Which is older, X or Y?"."""
    commas = list(re.finditer(r"[,:]\s+", question))
    for comma in commas if len(commas) <= MAX_PARTS else ():
        listed = question[comma.end() :].rstrip("? ")
        names = _LIST.split(listed)
        if " or " in listed and all(map(_is_name, names)) and _OPENING.match(question):
            return [f"{question[: comma.start()]}, {name}?" for name in names]
    return []


def _is_name(text: str) -> bool:
    """Whether it is written as names are: capitals or digits first and last, few words."""
    words = text.split()
    if words[:1] == ["the"]:
        words = words[1:]
    if not 0 < len(words) <= _LONGEST_NAME or not (
        _is_capital(words[0]) and _is_capital(words[-1])
    ):
        return False
    return all(_is_capital(word) or word in _INNER for word in words)


def _is_capital(word: str) -> bool:
    first = word.lstrip("\"'“‘([")[:1]
    return first.isupper() or first.isdigit()
