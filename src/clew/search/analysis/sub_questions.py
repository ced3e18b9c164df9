"""Sub-questions: a question that asks for several things is asked in parts, fused by the maximum.

Splitting goes by the form of the words (English) and is careful: a part that refers back to
another ("… and when did she die?") cannot be asked alone, and what is in doubt stays one question.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import ModelError
from clew.ports.models import ask
from clew.search.ranking.word_features import min_max
from clew.search.retrieval.channels import Ranking
from clew.text import one_line, sentences, terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.ports.models import LanguageModel

MAX_PARTS = 8
"""A question of more parts stays whole."""
_LEAST_WORDS = 3
_LONGEST_NAME = 8
_LONGEST_PART = 500
"""Characters of a part that a language model may write."""

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

_INSTRUCTIONS = f"""\
Split the question into the questions that must be answered to answer it, as few as possible, at
most {MAX_PARTS}. Each must be understood without the others: repeat names in place of pronouns, and
use the question's own words. Answer with nothing but these questions, one a line, each after "- ".
Where it asks for one thing only, answer with that one line."""


def parts_of(question: str, model: LanguageModel | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The parts of a question that asks for several things, and notes."""
    if model is None:
        note = "no language model was used: the question was split by rule"
        return split_question(question), (note,)
    return split_with_model(model, question)


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


def split_with_model(
    model: LanguageModel, question: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The parts that a language model names, or those of `split_question`; and notes.

    An answer counts only where it is in the form asked for and every part shares a term with the
    question.
    """
    try:
        answer = model.reply(ask("route", _INSTRUCTIONS, question, subject=question)).text
    except ModelError as error:
        return split_question(question), (f"sub-questions by rule: {error}",)
    parts = _read_answer(answer, question)
    if not parts:
        note = f"sub-questions by rule: {model.name} did not answer with a list of questions"
        return split_question(question), (note,)
    return parts, ()


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


def fuse_by_max(rankings: Sequence[Ranking]) -> Ranking:
    """Each passage by its best score among the rankings, 0 to 1, each ranking scaled by itself.

    The best passage of every ranking has 1, its last one 0. Never the mean: what answers one part
    need not resemble the others. Ties go to the smaller id; the order of the rankings does
    not matter.
    """
    ids = np.concatenate([np.zeros(0, np.int64), *(ranking.ids for ranking in rankings)])
    scaled = np.concatenate([np.zeros(0), *(min_max(ranking.scores) for ranking in rankings)])
    distinct, inverse = np.unique(ids, return_inverse=True)
    best = np.zeros(len(distinct), np.float32)
    np.maximum.at(best, inverse, scaled.astype(np.float32))
    order = np.lexsort((distinct, -best))
    return Ranking(distinct[order], best[order])


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


def _read_answer(answer: str, question: str) -> tuple[str, ...]:
    """The parts, each once; none where the answer is anything but what was asked for."""
    lines = [line.strip() for line in answer.splitlines() if line.strip()]
    if not 0 < len(lines) <= MAX_PARTS or not all(line.startswith("- ") for line in lines):
        return ()
    parts = [line.removeprefix("- ").strip() for line in lines]
    asked = set(terms(question))
    if not all(len(part) <= _LONGEST_PART and asked & set(terms(part)) for part in parts):
        return ()
    return tuple(dict.fromkeys(parts))
