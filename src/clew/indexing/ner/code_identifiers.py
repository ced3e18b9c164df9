"""Names in source code.

In code, names are those of what it defines; what it imports, extends and calls comes with the
relations (`clew.indexing.structure.code`). Comments and docstrings are prose, read with care: of
the capitalised words in them most are none.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from clew.indexing.ner.cased_ner import find_names
from clew.indexing.ner.spans import NameSpan
from clew.indexing.structure.code import CODE, Entities, entities_of, module_name
from clew.indexing.syntax.parse import syntax_of
from clew.indexing.syntax.parts import Syntax
from clew.sentences import sentences
from clew.text import entity_key
from clew.types import AliasEvidence, Chunk, ChunkExtraction, Document, Extraction, Mention

_DEFINED = re.compile(
    r"^[ \t]*(?:(?:export|default|public|private|protected|internal|abstract|final|static|sealed"
    r"|open|override|async|data)[ \t]+)*"
    r"(?:def|class|function|func|fun|fn|struct|interface|enum|trait|module|namespace|protocol"
    r"|record|object|sub|proc|CREATE TABLE)[ \t]+(?P<name>[A-Za-z_]\w+)",
    re.MULTILINE,
)
_COMPOUND = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]")
_STANDARD = re.compile(r"[A-Z]{3,4} \d{3,5}")
_CLASS = 5
"""Letters of a class's name that stands for it alone, at least."""
_TOLD = frozenset({"person", "organisation", "place", "work"})
"""Types of names that count in a comment."""
_SCORE = 0.9


def extract_code(document: Document, chunks: Sequence[Chunk]) -> Extraction:
    """The definitions of a source file with their short names, and names in its comments."""
    syntax = syntax_of(document)
    module = module_name(document)
    about = ((module, CODE),) if entity_key(module) else ()
    if syntax is None:
        found = [_read_chunk(chunk, _defined(chunk.text)) for chunk in chunks]
        return Extraction(chunks=tuple(found), about=about)
    entities = entities_of(document, syntax)
    aliases = tuple(_aliases(syntax, entities))
    spans = sorted([*_definitions(syntax, entities, aliases), *_in_comments(document, syntax)])
    starts = [span.start for span in spans]
    placed = [
        [
            s._replace(start=s.start - chunk.start, end=s.end - chunk.start)
            for s in spans[bisect_left(starts, chunk.start) : bisect_left(starts, chunk.end)]
            if s.end <= chunk.end
        ]
        for chunk in chunks
    ]
    return Extraction(
        chunks=tuple(_read_chunk(c, found) for c, found in zip(chunks, placed, strict=True)),
        about=about,
        aliases=aliases,
    )


def _read_chunk(chunk: Chunk, spans: Iterable[NameSpan]) -> ChunkExtraction:
    ranges = sentences(chunk.text)
    starts = [start for start, _ in ranges]
    found: dict[tuple[int, str], Mention] = {}
    for span in spans:
        ordinal = max(0, bisect_left(starts, span.start + 1) - 1)
        if ranges and span.end <= ranges[ordinal][1]:
            found.setdefault(
                (ordinal, entity_key(span.name)),
                Mention(
                    name=span.name,
                    entity_type=span.entity_type,
                    sentence=ordinal,
                    start=span.start,
                    end=span.end,
                ),
            )
    mentions = sorted(found.values(), key=lambda mention: mention.sentence)
    return ChunkExtraction(sentences=tuple(ranges), mentions=tuple(mentions))


def _defined(text: str) -> Iterator[NameSpan]:
    """What lines define, in a language without a grammar."""
    for match in _DEFINED.finditer(text):
        yield NameSpan(*match.span("name"), match["name"], CODE)


def _definitions(
    syntax: Syntax, entities: Entities, aliases: Sequence[AliasEvidence]
) -> Iterator[NameSpan]:
    """Each with its qualified name and, so that questions know them, its short ones."""
    short: dict[str, list[str]] = {}
    for alias in aliases:
        short.setdefault(alias.name, []).append(alias.alias)
    for place, name in entities.names.items():
        one = syntax.definitions[place]
        for said in (name, *short.get(name, ())):
            yield NameSpan(one.name_start, one.name_end, said, CODE)


def _aliases(syntax: Syntax, entities: Entities) -> Iterator[AliasEvidence]:
    """Names within the file, and single ones where one definition has them.

    A plain word ("get", "Use", "Html") is the name of too much to stand for one thing, but for a
    class of the module itself with a longer name ("Client", "Response").
    """
    once = Counter(syntax.definitions[place].path[-1] for place in entities.names)
    for place, name in entities.names.items():
        one = syntax.definitions[place]
        path, last = one.path, one.path[-1]
        said = [".".join(path)] if len(path) > 1 else []
        is_class = one.kind == "class" and len(path) == 1 and last[:1].isupper()
        if once[last] == 1 and (_COMPOUND.search(last) or (is_class and len(last) >= _CLASS)):
            said.append(last)
        for alias in said:
            if entity_key(alias) and entity_key(alias) != entity_key(name):
                evidence = f"{alias} is defined in {entities.module}"
                yield AliasEvidence(
                    alias=alias, name=name, method="exact", score=_SCORE, evidence=evidence
                )


def _in_comments(document: Document, syntax: Syntax) -> Iterator[NameSpan]:
    """Names of several words in comments whose type is known, and standards by their number."""
    for start, end in syntax.comments:
        for span in find_names(document.text, start, end):
            if _STANDARD.fullmatch(span.name):
                yield span._replace(entity_type="work")
            elif span.entity_type in _TOLD and " " in span.name and "\n" not in span.name:
                yield span
