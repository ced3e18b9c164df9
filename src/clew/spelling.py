"""What names are looked up by: the block of names that are spelled alike, and the words of a term.

Both are kept with each name of a store, so that what is near a name is found without reading all.
"""

from __future__ import annotations

import re

from clew.text import cached, entity_key, fold, terms

LONGEST_TERM = 5
"""Words."""
COMPANY_FORMS = {
    "corp": "corporation",
    "inc": "incorporated",
    "ltd": "limited",
    "co": "company",
    "bros": "brothers",
}
LEGAL_FORMS = frozenset(
    "ab ag aps as asa bv gmbh kft kg lda llc llp ltda nv oy oyj plc sa sarl sas sl spa srl".split()
).union(COMPANY_FORMS, COMPANY_FORMS.values())
"""Last words of companies' names, without dots, which a short form of the name leaves out."""
ENDINGS_OF_ONE_SOUND = frozenset("yij")
_SHORTEST_KEY = 6
"""Letters of a key that may vary, at least."""
_SHORTEST_WORD = 5
"""Letters of a word that may vary, at least; shorter words must be equal."""
_SOUND = str.maketrans({"z": "s", "c": "k", "q": "k", "w": "v", "y": None, "j": None, "h": None})
_ROMAN = re.compile(r"[ivxlcdm]+")
_VOWELS = re.compile(r"[aeiou]")
_REPEATED = re.compile(r"(.)\1+")
_LATIN = re.compile(r"[a-z]+")
_INFLECTING = re.compile("[\u0370-\u03ff\u0400-\u052f\u1f00-\u1fff]+")
_WORD = re.compile(r"[^\W_]+")
_JOINTS = frozenset("._:/$")


def lookup_keys(name: str) -> dict[str, str | None]:
    """`block` and `term` of a name, as they are kept with it; None where there is none."""
    words, key = term_words(name), entity_key(name)
    # A name with a sign ("C++ library") is found as it is written, not by its words.
    is_term = 0 < len(words) <= LONGEST_TERM and key.replace(" ", "").isalpha()
    return {
        # One word with joints within it is code, which is spelled exactly: `Client.get`.
        "block": None if is_identifier(name) else block_of(key),
        "term": " ".join(words) if is_term else None,
    }


def is_identifier(name: str) -> bool:
    """Whether a name is one word with joints within it: `Client.get`, and no "J. Smith"."""
    return " " not in name and not _JOINTS.isdisjoint(name[1:-1])


# --- words of a term


def term_words(name: str) -> tuple[str, ...]:
    """The words under which a term is known: folded, in the singular, without hyphens."""
    return tuple(map(singular, _WORD.findall(name)))


@cached(8)
def singular(word: str) -> str:
    """A word folded and without the ending of a plural."""
    folded = fold(word)
    if len(folded) < 4 or not folded.endswith("s") or folded.endswith(("ss", "us", "is")):
        return folded
    return f"{folded[:-3]}y" if folded.endswith("ies") else folded[:-1]


# --- blocks of names that are spelled alike


@cached(8)
def block_of(key: str) -> str | None:
    """A label that spellings of one name share; None for a key that must match exactly.

    Of each Latin word it holds the first two sounds and the last letter, or all sounds where there
    is but one word; in scripts whose names are inflected the stem. Short words and words with
    digits stand in it whole.
    """
    words = in_full(key)
    if sum(map(len, words)) < _SHORTEST_KEY or not any(map(may_vary, words)):
        return None
    if len(words) == 1 and words[0][0] <= "z":
        return skeleton(words[0])
    return " ".join([_block_of_word(word) for word in words])


def in_full(key: str) -> list[str]:
    """The words of a key, a company's form at the end in full: "acme corp"."""
    *words, last = key.split() or [""]
    return [*words, COMPANY_FORMS.get(last, last) if words else last]


@cached(8)
def may_vary(word: str) -> bool:
    """Whether a word may be spelled in more than one way: no short one, no number."""
    if len(word) < _SHORTEST_WORD or _ROMAN.fullmatch(word):
        return False
    return _LATIN.fullmatch(word) is not None or _INFLECTING.fullmatch(word) is not None


@cached(8)
def _block_of_word(word: str) -> str:
    if not may_vary(word):
        return word
    if word[0] > "z":
        return word[:3] + "".join(terms(word))
    return skeleton(word)[:2] + ("y" if word[-1] in ENDINGS_OF_ONE_SOUND else word[-1])


@cached(8)
def skeleton(word: str) -> str:
    """The first letter and the consonants after it, letters of one sound taken for one."""
    word = word.replace("ph", "f")
    rest = _VOWELS.sub("", word[1:].translate(_SOUND))
    return _REPEATED.sub(r"\1", word[0].translate(_SOUND) + rest)
