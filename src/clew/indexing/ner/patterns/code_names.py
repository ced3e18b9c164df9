"""Names of code in prose: files, paths, dotted names, identifiers with parts, options, calls.

What stands in monospaced type is code whatever it looks like (`find_ticked`); elsewhere the joints
within a word tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.indexing.ner.name_lexicon import is_ordinary
from clew.indexing.ner.patterns.run_together import is_compound, is_run_together
from clew.indexing.ner.spans import NameSpan
from clew.indexing.structure.code import CODE
from clew.word_lists import word_list

_TICKED = re.compile(
    r"(?<![`\w]):(?P<role>[a-z][\w:+-]{0,30}):`(?P<said>[^`\n]{1,120})`"
    r"|(?<!`)``?(?P<name>[~.]{0,2}/?(?:--?)?[A-Za-z_@][\w.:/+-]{0,120}+)(?:\(\))?``?(?!`)"
)
_TARGET = re.compile(r"[^<>\n]{0,100}<(?P<target>[^<>\n]{1,100})>")
_PERSON_ROLES = word_list("user author ghuser github-user")
_CODE_ROLES = word_list(
    "func function meth method class attr attribute data const exc exception obj mod module envvar"
    " option program command keyword token type member macro var decorator property code literal"
)

_RUN = re.compile(r"(?<![\w/.@:~#\\-])(?<!,(?=_))[~./\w-][\w./~:@+\\-]{2,120}+(?:\(\))?")
"""A word with whatever may join its parts; what is longer is none."""
_JOINT = re.compile(r"[._/(-]|[a-z][A-Z]|\w::\w")
_FIELD = re.compile(r":(?:\s|$)|,_")
"""What follows the name of a field, or a part of an address."""
_OPTION = re.compile(r"--[a-z][a-z0-9]+(?:-[a-z0-9]+)*")
_PATH = re.compile(
    r"(?:~|\.{1,2})?(?:/[\w.+@-]{1,60}){1,20}/?|(?:[\w.+-]{1,60}/){1,20}[\w.+-]{0,60}"
)
_FILE = re.compile(r"[\w+-]{1,60}(?:\.[\w+-]{1,40}){0,6}\.(?P<ending>[A-Za-z]\w{0,6})")
_DOT_FILE = re.compile(r"\.[a-z][a-z0-9_-]{2,30}(?:rc|ignore|ini|conf|attributes|config)?")
_DOTTED = re.compile(r"[A-Za-z_]\w{0,60}(?:\.[A-Za-z_]\w{0,60}){1,10}")
_QUALIFIED = re.compile(r"[A-Za-z_]\w{0,60}(?:::~?[A-Za-z_]\w{0,60}){1,10}")
_SNAKE = re.compile(r"(?=[_A-Za-z0-9]{0,80}?[A-Za-z])_{0,2}[A-Za-z0-9]+(?:_+[A-Za-z0-9]+)+_{0,2}")
_CAMEL = re.compile(r"[a-z]{2,30}(?:[A-Z][a-z0-9]{1,30})+")
_SOUND = re.compile("[\u02c8\u02cc\u02d0\u0259\u026a\u028a]")
"""Signs of the phonetic alphabet, which writes sounds between slashes."""
_HASH = re.compile(r"(?=[a-f]{0,40}\d)[0-9a-f]{7,64}")
"""What names a revision."""
_DUNDER = re.compile(r"__[a-z]\w{1,40}__")
_LIBRARY = re.compile(r"\w{1,60}\.so(?:\.\w{1,10}){1,4}")
_FRAMEWORK = re.compile(r"[A-Z]\w{1,30}\.(?:js|NET|io|jl)")
"""Names of products that look like those of files."""
_CALL = re.compile(r"[A-Za-z_][\w.:]{0,80}\(\)")
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
_SMALL = re.compile(r"[a-z]*")
_LONGEST_GLUED = 26
"""Letters of an identifier's part in small letters, at most; longer ones are words run together."""
_LONGEST_HEAD = 9
"""Letters of a part that may be made of words: `filename`, `whitespace`."""


def find_ticked(text: str, start: int, end: int) -> Iterator[NameSpan]:
    """Names in monospaced type: between back-ticks, or under a role of reStructuredText."""
    for match in _TICKED.finditer(text, start, end):
        if match["role"]:
            yield from _in_role(match)
            continue
        name = match["name"].rstrip(".:/-")
        if len(name.strip("./~-")) > 1 and "://" not in name and not _HASH.fullmatch(name):
            yield NameSpan(match.start("name"), match.start("name") + len(name), name, CODE)


_REFERENCE = re.compile(r"[^_\W][\w/-]{0,80}(?:\.[\w-]{1,40}){1,4}_")
"""A file or a dotted name with the mark of a hyperlink in reStructuredText: "minimal.css_"."""


def _in_role(match: re.Match[str]) -> Iterator[NameSpan]:
    """`:func:`~os.stat()`` names code, `:user:`name`` somebody, `:rfc:`2822`` a standard."""
    role, said = match["role"].rpartition(":")[2], match["said"]
    left = match.start("said")
    target = _TARGET.fullmatch(said)
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
    for match in _RUN.finditer(text, start, end):
        run = match.group().rstrip(".:-@\\")
        if run.endswith("_") and _REFERENCE.fullmatch(run):
            run = run[:-1]
        if not _JOINT.search(run) or "://" in run or "@" in run:
            continue
        left = match.start()
        if text[left - 1 : left + 1] == "</" or text.endswith("-\n", start, left):
            continue  # the end of an element, or of a word that a line breaks
        if text.endswith((":ref:`", ":doc:`"), start, left) or (
            text[left - 1 : left] == "<" and text.startswith(">`", left + len(run))
        ):
            continue  # the target of a reference
        after = text[left + len(run) : left + len(run) + 1]
        if (after and after in "=@#\\") or _FIELD.match(text, left + len(run)):
            continue
        name = run.removesuffix("()") if _CALL.fullmatch(run) else run
        if _FRAMEWORK.fullmatch(name):
            yield NameSpan(left, left + len(name), name, "product")
        elif _is_code(name, is_call=name != run) or (
            after == '"' == text[left - 1 : left] and _DOTTED.fullmatch(name) and not _is_host(name)
        ):
            yield NameSpan(left, left + len(name), name, CODE)


def _is_code(name: str, *, is_call: bool) -> bool:
    if is_call:
        return len(name) > 1
    if "::" in name:
        return _QUALIFIED.fullmatch(name) is not None
    if name.startswith("--"):
        return _OPTION.fullmatch(name) is not None
    if "/" in name:
        return _is_path(name)
    if name.startswith("."):
        return _DOT_FILE.fullmatch(name) is not None and not is_ordinary(name)
    if "." in name:
        return _is_file(name) or _is_dotted(name) or _LIBRARY.fullmatch(name) is not None
    if "_" in name:
        return bool(_DUNDER.fullmatch(name) or (_SNAKE.fullmatch(name) and name[-1] != "_"))
    return _CAMEL.fullmatch(name) is not None and not _is_glued(name)


def _is_path(name: str) -> bool:
    """An absolute path, or a relative one whose last part is a file or whose first is no word."""
    if _PATH.fullmatch(name) is None or name.startswith(("//", "..")) or _SOUND.search(name):
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
    match = _FILE.fullmatch(name)
    if match is None or match["ending"] not in ENDINGS:
        return False
    stem = name[: match.start("ending") - 1]
    return not stem.isdigit()


def _is_dotted(name: str) -> bool:
    """Parts of an identifier: small ones, or a class before what it holds; no host, no "e.g"."""
    parts = name.split(".")
    if _DOTTED.fullmatch(name) is None or _is_host(name) or min(map(len, parts)) < 2:
        return False
    first, second = parts[0], parts[1]
    if second[0].isupper() and is_ordinary(first) and is_ordinary(second):
        return False  # two sentences without a blank between them
    return not (first[0].isupper() and second[0].isupper()) and not any(map(_is_glued, parts))


def _is_host(name: str) -> bool:
    first, _, last = name.rpartition(".")
    return name.startswith("www.") or (
        last in HOSTS and (last not in ENDINGS or "." in first) and name.islower()
    )


def _is_glued(name: str) -> bool:
    """Whether words ran together, as they do in what some PDF files give for text."""
    head = _SMALL.match(name)
    assert head is not None
    small = head.group()
    return (
        len(small) > _LONGEST_GLUED
        or is_run_together(small)
        or (len(small) > _LONGEST_HEAD and not is_ordinary(small) and is_compound(small))
    )
