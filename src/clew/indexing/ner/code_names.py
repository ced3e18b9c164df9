"""Names of code in prose: files, paths, dotted names, identifiers with parts, options, calls.

What stands in monospaced type is code whatever it looks like (`find_ticked`); elsewhere the joints
within a word tell.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from clew.indexing.ner.cased_ner import is_compound
from clew.indexing.ner.entity_types import CODE, NameSpan, is_ordinary
from clew.word_lists import read_patterns, read_word_lists, word_list

_RE = read_patterns("clew.indexing.ner", "patterns.toml")["code_names"]

_PERSON_ROLES = word_list("user author ghuser github-user")
_CODE_ROLES = word_list(
    "func function meth method class attr attribute data const exc exception obj mod module envvar"
    " option program command keyword token type member macro var decorator property code literal"
)

ENDINGS = word_list(
    "py pyi pyx js mjs cjs ts tsx jsx c h cc cpp hpp java go rs rb php pl pm sh bash zsh ps1 lua"
    " sql txt md rst adoc tex html htm css xml json jsonl yaml yml toml ini cfg conf csv tsv log"
    " lock list diff patch deb rpm tar gz bz2 xz zip whl jar so dll exe bin pdf png jpg jpeg svg"
    " gif ico mk cmake in ac am po mo dsc changes sources desktop service socket timer rules ipynb"
    " proto dockerfile gradle properties db sqlite mbox eml ics docx xlsx pptx odt epub"
)
HOSTS = word_list(
    "com org net edu gov mil int info biz io dev ai de fr es it uk eu ch at nl be se no dk fi pl"
    " cz ru us ca au jp cn kr in br za nz ie pt gr hu il tr"
)


def find_ticked(text: str, start: int, end: int) -> Iterator[NameSpan]:
    """Names in monospaced type: between back-ticks, or under a role of reStructuredText."""
    for match in _RE["ticked"].finditer(text, start, end):
        if match["role"]:
            yield from _in_role(match)
            continue
        name = match["name"].rstrip(".:/-")
        if len(name.strip("./~-")) > 1 and "://" not in name and not _RE["hash"].fullmatch(name):
            yield NameSpan(match.start("name"), match.start("name") + len(name), name, CODE)


def _in_role(match: re.Match[str]) -> Iterator[NameSpan]:
    """`:func:`~os.stat()`` names code, `:user:`name`` somebody, `:rfc:`2822`` a standard."""
    role, said = match["role"].rpartition(":")[2], match["said"]
    left = match.start("said")
    target = _RE["target"].fullmatch(said)
    if target:
        left, said = left + target.start("target"), target["target"]
    bare = said.lstrip("~!.")
    left += len(said) - len(bare)
    bare = bare.removesuffix("()")
    if role in _PERSON_ROLES:
        yield NameSpan(left, left + len(bare), bare, "person")
    elif role in ("rfc", "pep") and bare.isdigit():
        yield NameSpan(left, left + len(bare), f"{role.upper()} {bare}", "work")
    elif role in _CODE_ROLES and re.fullmatch(r"[\w.:-]{2,120}", bare):
        yield NameSpan(left, left + len(bare), bare, CODE)


def find_code_names(text: str, start: int, end: int) -> Iterator[NameSpan]:
    """Names of code outside of monospaced type, by the joints within them."""
    for match in _RE["run"].finditer(text, start, end):
        run = match.group().rstrip(".:-@\\")
        if run.endswith("_") and _RE["reference"].fullmatch(run):
            run = run[:-1]
        if not _RE["joint"].search(run) or "://" in run or "@" in run:
            continue
        left = match.start()
        if text[left - 1 : left + 1] == "</" or text.endswith("-\n", start, left):
            continue  # the end of an element, or of a word that a line breaks
        if text.endswith((":ref:`", ":doc:`"), start, left) or (
            text[left - 1 : left] == "<" and text.startswith(">`", left + len(run))
        ):
            continue  # the target of a reference
        after = text[left + len(run) : left + len(run) + 1]
        if (after and after in "=@#\\") or _RE["field"].match(text, left + len(run)):
            continue
        name = run.removesuffix("()") if _RE["call"].fullmatch(run) else run
        if _RE["framework"].fullmatch(name):
            yield NameSpan(left, left + len(name), name, "product")
        elif _is_code(name, is_call=name != run) or (
            after == '"' == text[left - 1 : left]
            and _RE["dotted"].fullmatch(name)
            and not _is_host(name)
        ):
            yield NameSpan(left, left + len(name), name, CODE)


def _is_code(name: str, *, is_call: bool) -> bool:
    if is_call:
        return len(name) > 1
    if "::" in name:
        return _RE["qualified"].fullmatch(name) is not None
    if name.startswith("--"):
        return _RE["option"].fullmatch(name) is not None
    if "/" in name:
        return _is_path(name)
    if name.startswith("."):
        return _RE["dot_file"].fullmatch(name) is not None and not is_ordinary(name)
    if "." in name:
        return _is_file(name) or _is_dotted(name) or _RE["library"].fullmatch(name) is not None
    if "_" in name:
        return bool(
            _RE["dunder"].fullmatch(name) or (_RE["snake"].fullmatch(name) and name[-1] != "_")
        )
    return _RE["camel"].fullmatch(name) is not None


def _is_path(name: str) -> bool:
    """An absolute path, or a relative one whose last part is a file or whose first is no word."""
    if (
        _RE["path"].fullmatch(name) is None
        or name.startswith(("//", ".."))
        or _RE["sound"].search(name)
    ):
        return False
    parts = [part for part in name.split("/") if part not in ("", "~", ".", "..")]
    if not parts or not any(part[0].isalpha() or part[0] in "._" for part in parts):
        return False
    if name.startswith(("/", "~", ".")):
        return len(name) > 3
    if "." in parts[0] and _is_host(parts[0]):
        return False
    return _is_file(parts[-1]) or (
        all(part.islower() and len(part) > 1 for part in parts)
        and not is_ordinary(parts[0])
        and (len(parts) > 2 or is_ordinary(parts[-1]))
    )


def _is_file(name: str) -> bool:
    match = _RE["file"].fullmatch(name)
    if match is None or match["ending"] not in ENDINGS:
        return False
    stem = name[: match.start("ending") - 1]
    return not stem.isdigit()


def _is_dotted(name: str) -> bool:
    """Parts of an identifier: small ones, or a class before what it holds; no host, no "e.g"."""
    parts = name.split(".")
    if _RE["dotted"].fullmatch(name) is None or _is_host(name) or min(map(len, parts)) < 2:
        return False
    first, second = parts[0], parts[1]
    if second[0].isupper() and is_ordinary(first) and is_ordinary(second):
        return False  # two sentences without a blank between them
    return not (first[0].isupper() and second[0].isupper())


def _is_host(name: str) -> bool:
    first, _, last = name.rpartition(".")
    return name.startswith("www.") or (
        last in HOSTS and (last not in ENDINGS or "." in first) and name.islower()
    )


# Words that addresses, paths and identifiers of a document are made of: `pytest`, `dpkg`.


_SAMPLE = 20_000
"""Characters from the beginning that tell the language."""
_LEAST_ORDINARY = 0.6
_SHORTEST = 3
_LEAST_TOKENS = 2
"""Different tokens in which a part stands that is joined by hyphens alone."""
_VOCABULARY = word_list(read_word_lists("clew.indexing.ner", "words", "names.toml")["computing"])


def technical_words(text: str) -> frozenset[str]:
    """Words in small letters, ordinary ones and the common vocabulary of computing left out.

    Words with hyphens are such where one of their parts is (`dpkg-buildpackage`). None of a text
    that is not in English, whose words are all unknown here.
    """
    joined = {
        run
        for run in map(re.Match.group, _RE["run_technical_words"].finditer(text))
        if _RE["joined"].search(run)
    }
    hyphened = {run for run in joined if _RE["hyphened"].fullmatch(run)}
    sure = {part for run in joined - hyphened for part in _telling(run)}
    often = Counter(part for run in hyphened for part in _telling(run))
    sure |= {name for name in _RE["kind_said"].findall(text) if is_telling(name)}
    found = sure | {part for part, count in often.items() if count >= _LEAST_TOKENS}
    if not found or not _is_english(text):
        return frozenset()
    return frozenset(found) | {run for run in hyphened if not found.isdisjoint(run.split("-"))}


def _telling(run: str) -> set[str]:
    return {part for part in _RE["part"].findall(run) if part.islower() and is_telling(part)}


def is_telling(part: str) -> bool:
    """Whether a word in small letters is in no dictionary, however it may be made up."""
    return (
        len(part) >= _SHORTEST
        and part.isascii()
        and part not in HOSTS
        and part not in ENDINGS
        and part not in _VOCABULARY
        and not part.endswith("o")  # combining forms: "anarcho-", "socio-"
        and not is_ordinary(part)
        and not _RE["derived"].search(part)
        and not is_compound(part)
        and not is_ordinary(_RE["prefix"].sub("", part))
    )


def _is_english(text: str) -> bool:
    words = _RE["small_word"].findall(text, 0, _SAMPLE)
    return sum(map(is_ordinary, words)) >= _LEAST_ORDINARY * len(words)
