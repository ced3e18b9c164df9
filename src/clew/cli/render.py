"""Passages as a terminal shows them: matched words marked, and the path drawn."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text
from rich.tree import Tree

from clew.cli.output import printable, shown_source
from clew.text import terms
from clew.types import Hit, PathStep, SearchResult

MATCH = "bold yellow"
ENTITY = "bold cyan"
FAINT = "dim"

_WORD = re.compile(r"\w+(?:['’]\w+)*")


def passages(result: SearchResult, limit: int | None = None) -> Iterator[RenderableType]:
    """The passages of a result, best first; `limit` of them, or all."""
    asked = frozenset(terms(result.query))
    for number, hit in enumerate(result.hits[:limit], start=1):
        yield passage(number, hit, asked)


def passage(number: int, hit: Hit, asked: frozenset[str]) -> RenderableType:
    """One passage: where it stands, its text, its scores, and the path to it."""
    parts: list[RenderableType] = [marked(hit.chunk.text.strip(), asked), scores(hit)]
    if hit.path:
        parts.append(thread(hit.path, hit.chunk.title or hit.chunk.source))
    return Group(citation(number, hit), Padding.indent(Group(*parts), 4), Text())


def citation(number: int, hit: Hit) -> Text:
    """`[1] Title, page 3, source`, or the range of characters where there are no pages."""
    chunk = hit.chunk
    place = f"characters {chunk.start}–{chunk.end}" if chunk.page is None else f"page {chunk.page}"
    source = shown_source(chunk.source)
    title = printable(chunk.title) or source
    text = Text.assemble((f"[{number}] {title}", "bold"), (f", {place}", FAINT))
    return text if title == source else text.append(f", {source}", style=FAINT)


def scores(hit: Hit) -> Text:
    """The fused score, and the score by channel."""
    channels = [f"{name} {value:.3f}" for name, value in hit.scores.items()]
    return Text(" · ".join([f"score {hit.score:.3f}", *channels]), style=FAINT)


def thread(path: Sequence[PathStep], end: str) -> Tree:
    """The path from an entity of the question, through sentences, to the passage."""
    root = Tree(Text(printable(path[0].entity), style=ENTITY), guide_style=FAINT)
    branch = root
    for step, following in pairwise([*path, None]):
        assert step is not None
        branch = branch.add(_sentence(step))
        if following is not None:
            branch = branch.add(Text(printable(following.entity), style=ENTITY))
    branch.add(Text(printable(end), style="bold"))
    return root


def _sentence(step: PathStep) -> Text:
    sentence = Text(f"“{printable(' '.join(step.sentence.split()))}”", style="italic")
    return sentence.append(f" ({printable(step.document)})", style=FAINT)


def marked(text: str, asked: frozenset[str]) -> Text:
    """The text with the words marked whose search terms the question has, in any script."""
    shown = Text(printable(text))
    for start, end in matches(shown.plain, asked):
        shown.stylize(MATCH, start, end)
    return shown


def matches(text: str, asked: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Ranges of `text` that hold one of the terms `asked`."""
    for word in _WORD.finditer(text):
        found = terms(word.group())
        if len(found) > 1:
            yield from _matching_pairs(word, asked)
        elif not asked.isdisjoint(found):
            yield word.span()


def _matching_pairs(word: re.Match[str], asked: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Scripts without spaces are searched by pairs of characters, and so marked by them."""
    for start in range(word.start(), word.end() - 1):
        if not asked.isdisjoint(terms(word.string[start : start + 2])):
            yield start, start + 2
