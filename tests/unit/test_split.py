"""Documents become sections and chunks."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InputError
from clew.indexing.outline import Break, Unit, headings, outline, tables
from clew.indexing.split import context_of, pack, split
from clew.models.onnx import OnnxEmbedder
from clew.plugins.code import is_code
from clew.plugins.code.parse import code_outline
from clew.settings import EmbedSettings, SplitSettings, SplitStrategy
from clew.types import Chunk, Document, Piece, Split, Vectors

# --- split


_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u9fff\U00020000-\U0002ffff"
_WORD_PIECE = re.compile(rf"[{_IDEOGRAPHS}]|[^\W{_IDEOGRAPHS}]+|[^\w\s]")

STRATEGIES = get_args(SplitStrategy)
SMALL = SplitSettings(chunk_tokens=20, section_tokens=60)


TOPICS = ("cheese", "rocket", "violin")


class WordPieces:
    """Counts as WordPiece does: four letters a token, ideographs singly, a blob as one unknown."""

    def __init__(self, max_tokens: int = 256) -> None:
        self.max_tokens = max_tokens

    def count_tokens(self, text: str) -> int:
        return sum(self._pieces(word) for word in text.split())

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """By the topics that they name, or else by chance."""
        return np.stack([_direction(text) for text in texts]).astype(np.float32)

    def _pieces(self, word: str) -> int:
        return 1 if len(word) > 100 else sum(-(-len(p) // 4) for p in _WORD_PIECE.findall(word))


def _direction(text: str) -> np.ndarray:
    counts = [text.count(topic) for topic in TOPICS]
    digest = hashlib.sha256(text.encode("utf-8", "replace")).digest()
    vector = np.asarray(counts if any(counts) else list(digest[:3]), dtype=np.float64) + 0.01
    return np.asarray(vector / np.linalg.norm(vector))


def of(text: str, title: str = "", media_type: str = "text/markdown") -> Document:
    return Document(source="a.md", text=text, title=title, media_type=media_type)


def check_invariants(
    document: Document, result: Split, settings: SplitSettings, tokens: WordPieces
) -> None:
    text = document.text
    assert "".join(text[s.start : s.end] for s in result.sections) == text
    for items in (result.sections, result.chunks):
        assert [one.ordinal for one in items] == list(range(len(items)))
    for chunk in result.chunks:
        section = result.sections[chunk.section]
        assert section.start <= chunk.start < chunk.end <= section.end
        assert chunk.text == text[chunk.start : chunk.end] == chunk.text.strip()
        if len(chunk.text) > 1:
            assert tokens.count_tokens(chunk.text) <= settings.chunk_tokens
            assert tokens.count_tokens(chunk.embedding_text) + 2 <= tokens.max_tokens
    for before, after in pairwise(result.chunks):
        assert before.start < after.start
        assert before.end < after.end
    assert uncovered(text, result.chunks) == ""


def uncovered(text: str, chunks: Sequence[Chunk]) -> str:
    """What no chunk holds, passages apart that have neither a letter nor a digit."""
    rest, at = [], 0
    for chunk in chunks:
        rest.append(text[at : max(at, chunk.start)])
        at = max(at, chunk.end)
    return "".join(part for part in [*rest, text[at:]] if tells(part)).strip()


def tells(text: str) -> bool:
    return any(map(str.isalnum, text))


MARKS = st.characters(exclude_categories=("L", "N", "Cs", "Zs", "Cc"))


@given(
    unit=st.text(MARKS, min_size=1, max_size=3),
    between=st.sampled_from(["", " ", "\n", "\n\n", "\t"]),
    words=st.lists(st.sampled_from(["Jonas Reed built it.", "1958", "\u6a4b"]), max_size=4),
    strategy=st.sampled_from([s for s in STRATEGIES if s != "semantic"]),
    media_type=st.sampled_from(["text/plain", "text/markdown", "text/x-python"]),
)
def test_runs_of_marks_make_no_passages(
    unit: str, between: str, words: list[str], strategy: SplitStrategy, media_type: str
) -> None:
    """However long they are: each chunk has a letter or a digit, or is the only one."""
    run = between.join([unit] * 400)
    text = f"\n\n{run}\n\n".join(["", *words, ""])
    settings = SMALL.model_copy(update={"strategy": strategy})

    result = split(of(text, media_type=media_type), settings, WordPieces())

    assert "".join(text[s.start : s.end] for s in result.sections) == text
    assert len(result.chunks) == 1 or all(tells(chunk.text) for chunk in result.chunks)
    kept = " ".join(chunk.text for chunk in result.chunks)
    single = " ".join(words).replace(".", "").split()
    assert all(word in kept for word in single)
    assert len(result.chunks) <= max(1, 2 * len(single))


@pytest.mark.parametrize("text", ["|" * 120_000, ("| " * 20 + "\n") * 3000, "-=" * 60_000])
def test_a_table_of_nothing_is_one_chunk(text: str) -> None:
    tables = f"The tolls of 1958.\n\n{text}\n\nJonas Reed built the mill."
    assert len(split(of(text), SplitSettings(), WordPieces()).chunks) == 1
    found = split(of(tables), SplitSettings(), WordPieces()).chunks
    assert ["tolls" in c.text for c in found] == [True, False]


FRAGMENTS = st.sampled_from(
    [
        "# Top\n", "## Under\n\n", "### Deep\n", "Title\n=====\n", "\n\n", "\n", " ", "\t", "\f",
        "```py\n", "```\n", "~~~\n", "| a | b |\n", "def f(x):\n", "    return x\n", "class A:\n",
        "}\n", "A sentence that says little. ", "Mr. Smith went to St. Ives! ", "Wirklich? ",
        "吾輩は猫である。名前はまだ無い。",
        "Кто виноват? Что делать? ", "هذا هو. ", "ἐν ἀρχῇ ",
        "👩‍👩‍👧‍👦", "👍🏽", "e\u0301", "\u0301",
        "한국어 문장. ", "x" * 130, "QUJD" * 40, "a,b;c:",
        "- item\n", "1. item\n",
    ]
)  # fmt: skip
TEXTS = st.lists(FRAGMENTS | st.text(max_size=30), max_size=40).map("".join)


@given(
    text=TEXTS,
    given_settings=st.builds(
        lambda strategy, tokens, factor, overlap: SplitSettings(
            strategy=strategy, chunk_tokens=tokens, section_tokens=tokens * factor, overlap=overlap
        ),
        st.sampled_from(STRATEGIES),
        st.integers(16, 60),
        st.integers(1, 4),
        st.floats(0, 0.5),
    ),
    title=st.sampled_from(["", "A title", "T " * 40, "z" * 400]),
    media_type=st.sampled_from(["text/markdown", "text/x-rst", "text/x-python", "text/plain"]),
    tokens=st.sampled_from([16, 32, 256]).map(WordPieces),
)
def test_chunks_rebuild_the_document(
    text: str, given_settings: SplitSettings, title: str, media_type: str, tokens: WordPieces
) -> None:
    document = of(text, title, media_type)
    check_invariants(document, split(document, given_settings, tokens), given_settings, tokens)


@given(parts=st.lists(TEXTS, min_size=1, max_size=8), strategy=st.sampled_from(STRATEGIES))
def test_pieces_are_chunks_and_keep_key_and_metadata(
    parts: list[str], strategy: SplitStrategy
) -> None:
    settings = SMALL.model_copy(update={"strategy": strategy})
    ends = list(accumulate(len(part) + 1 for part in parts))
    pieces = tuple(
        Piece(start=end - 1 - len(part), end=end - 1, key=f"k{i}", metadata={"n": i})
        for i, (part, end) in enumerate(zip(parts, ends, strict=True))
    )
    document = Document(source="log", text="\n".join(parts), title="Log", pieces=pieces)
    result = split(document, settings, WordPieces())
    check_invariants(document, result, settings, WordPieces())
    for piece, part in zip(pieces, parts, strict=True):
        own = [c for c in result.chunks if c.key == piece.key]
        assert bool(own) == bool(part.strip())
        assert all(piece.start <= c.start and c.end <= piece.end for c in own)
        assert all(c.metadata == piece.metadata for c in own)


def test_text_between_pieces_is_in_sections_only() -> None:
    text = "head [one] gap [two] tail"
    pieces = tuple(
        Piece(start=text.index(key), end=text.index(key) + 3, key=key) for key in ("one", "two")
    )
    result = split(Document(source="s", text=text, pieces=pieces), SMALL, WordPieces())
    assert [c.text for c in result.chunks] == ["one", "two"]
    assert [(s.start, s.end) for s in result.sections] == [(0, len(text))]


@pytest.mark.parametrize(
    ("ranges", "match"),
    [
        ([(0, 4), (3, 6)], r"piece '1' of 'a' is \[3, 6\): expected a range within \[4, 9\)"),
        ([(0, 10)], r"piece '0' of 'a' is \[0, 10\): expected a range within \[0, 9\)"),
        ([(5, 4)], "give pieces in order, in code points, without overlap"),
    ],
)
def test_pieces_that_cannot_be(ranges: list[tuple[int, int]], match: str) -> None:
    pieces = tuple(Piece(start=a, end=b, key=str(i)) for i, (a, b) in enumerate(ranges))
    with pytest.raises(InputError, match=match):
        split(Document(source="a", text="some text", pieces=pieces), SMALL, WordPieces())


# --- short and empty texts ---------------------------------------------------------------


def test_blank_text_has_a_section_and_no_chunk() -> None:
    (section,) = split(of(" \n\t\u3000"), SMALL, WordPieces()).sections
    assert (section.start, section.end, section.headings) == (0, 4, ())
    assert split(of(""), SMALL, WordPieces()) == Split(sections=(), chunks=())


# --- structure ---------------------------------------------------------------------------


def sentences_of(subject: str, count: int) -> str:
    return " ".join(f"{subject} number {i} says a thing." for i in range(count))


GUIDE = f"""# Guide

{sentences_of("Preface", 3)}

## Install

{sentences_of("Install", 6)}

## Use

{sentences_of("Use", 6)}

# Appendix

Tiny.
"""


def test_headings_begin_sections_and_make_the_context() -> None:
    result = split(of(GUIDE, "Guide"), SMALL, WordPieces())
    assert {(s.headings, GUIDE[s.start : s.end].split("\n")[0]) for s in result.sections} >= {
        (("Guide",), "# Guide"),
        (("Guide", "Install"), "## Install"),
        (("Guide", "Use"), "## Use"),
        (("Appendix",), "# Appendix"),
    }
    subjects = {
        (chunk.context, subject)
        for chunk in result.chunks
        for subject in re.findall(r"(\w+)(?: number|\.$)", chunk.text)
    }
    assert subjects >= {
        ("Guide", "Preface"),
        ("Guide › Install", "Install"),
        ("Guide › Use", "Use"),
        ("Guide › Appendix", "Tiny"),
    }
    assert {context for context, subject in subjects if subject == "Use"} == {"Guide › Use"}


def test_fence_and_table_are_kept_whole_where_they_fit() -> None:
    fence = "```\n# no heading\n\nx = 1\n```"
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    text = f"{sentences_of('One', 3)}\n\n{fence}\n\n{sentences_of('Two', 3)}\n\n{table}\n"
    settings = SplitSettings(chunk_tokens=26, section_tokens=200, overlap=0)
    result = split(of(text), settings, WordPieces())
    assert [sum(block in c.text for c in result.chunks) for block in (fence, table)] == [1, 1]
    assert all(s.headings == () for s in result.sections)


def test_chunks_begin_at_sentences_and_overlap_by_whole_ones() -> None:
    text = sentences_of("Sentence", 40)
    settings = SplitSettings(chunk_tokens=60, section_tokens=800, overlap=0.15)
    chunks = split(of(text), settings, WordPieces()).chunks
    assert all(c.text.startswith("Sentence") and c.text.endswith(".") for c in chunks)
    repeated = [text[b.start : a.end] for a, b in pairwise(chunks)]
    assert all(len(re.findall("Sentence", part)) == 1 for part in repeated)


def test_blob_is_cut_hard_even_where_the_tokenizer_calls_it_one_token() -> None:
    chunks = split(of(f"Before. {'QUJD' * 2500} After."), SMALL, WordPieces()).chunks
    assert max(len(c.text) for c in chunks) <= 12 * SMALL.chunk_tokens + 11


def test_real_tokenizer_agrees() -> None:
    embedder = OnnxEmbedder(EmbedSettings())
    text = GUIDE + "Œuvre naïve, 東京都は日本の首都です。 Привет, мир! " * 40 + "QUJD" * 800
    chunks = split(of(text, "Guide"), SplitSettings(), embedder).chunks
    assert len(chunks) > 5
    assert max(embedder.count_tokens(c.text) for c in chunks) <= 200
    assert max(embedder.count_tokens(c.embedding_text) for c in chunks) <= embedder.max_tokens - 2
    assert uncovered(text, chunks) == ""


@pytest.mark.parametrize("cluster", ["e\u0301\u0323", "👍🏽", "👩‍👩‍👧", "☀\ufe0f", "नि"])
def test_visible_characters_are_not_cut(cluster: str) -> None:
    for chunk in split(of(cluster * 500), SMALL, WordPieces()).chunks:
        first = chunk.text[0]
        assert not unicodedata.category(first).startswith("M")
        assert first not in "\u200d🏽"
        assert not chunk.text.endswith("\u200d")


# --- context -----------------------------------------------------------------------------


def test_long_context_takes_at_most_a_quarter_and_keeps_title_and_last_heading() -> None:
    text = "# " + "outer " * 15 + "\n## " + "middle " * 15 + "\n### Inner\n" + sentences_of("S", 40)
    tokens = WordPieces(max_tokens=102)
    chunks = split(of(text, "Title"), SplitSettings(chunk_tokens=80), tokens).chunks
    contexts = {c.context for c in chunks}
    assert {context for context in contexts if "Inner" in context} == {"Title › Inner"}
    assert all(tokens.count_tokens(context) <= 25 for context in contexts)


# --- pages -------------------------------------------------------------------------------


def paged(*pages: str) -> Document:
    starts = [sum(len(page) + 2 for page in pages[:i]) for i in range(len(pages))]
    return Document(source="a.pdf", text="\n\n".join(pages), page_starts=tuple(starts))


def test_page_of_a_chunk_is_where_it_starts() -> None:
    document = paged(*(sentences_of(f"P{i}", 5) for i in range(1, 5)))
    chunks = split(document, SMALL, WordPieces()).chunks
    assert [c.page for c in chunks] == [int(c.text[1]) for c in chunks]
    assert {c.page for c in chunks} == {1, 2, 3, 4}


@pytest.mark.parametrize(("strategy", "cut"), [("recursive", False), ("page", True)])
def test_page_strategy_alone_ends_chunks_at_pages_even_within_a_sentence(
    strategy: SplitStrategy, cut: bool
) -> None:
    opening = sentences_of("One", 3) + " This one goes on"
    document = paged(opening, "over the page. " + sentences_of("Two", 3), "# Heading\n\nEnd.")
    settings = SplitSettings(strategy=strategy, chunk_tokens=40, section_tokens=80)
    chunks = split(document, settings, WordPieces()).chunks
    at = document.page_starts[1]
    assert len(chunks) > 1
    assert any(c.start < at < c.end for c in chunks) == (not cut)
    assert any(c.text.startswith("over the page.") for c in chunks) == cut


# --- fixed -------------------------------------------------------------------------------


def test_fixed_windows_are_even_and_overlap_at_words() -> None:
    text = " ".join(f"w{i % 10}" for i in range(400))
    settings = SplitSettings(strategy="fixed", chunk_tokens=40, section_tokens=400, overlap=0.2)
    chunks = split(of(text), settings, WordPieces()).chunks
    sizes = [len(c.text.split()) for c in chunks]
    assert min(sizes) >= 24
    assert max(sizes) <= 40
    within = [(a, b) for a, b in pairwise(chunks) if a.section == b.section]
    assert all(4 <= len(text[b.start : a.end].split()) <= 12 for a, b in within)


# --- split code


PYTHON = '''"""Module."""

import os

LIMIT = 3


@cache
def first(a: int) -> int:
    """Say what it does."""
    b = a + LIMIT

    return b * 2


class Store:
    """Keeps things."""

    def save(self, thing: str) -> None:
        path = os.path.join(self.root, thing)
        self.write(path)

    # Comment that belongs to delete.
    def delete(self, thing: str) -> None:
        self.things.remove(thing)


def last() -> None:
    return None
'''


def chunks_of(text: str, media_type: str, tokens: int = 16) -> tuple[Chunk, ...]:
    document = Document(source="s", text=text, title="a.py", media_type=media_type)
    settings = SplitSettings(chunk_tokens=tokens, section_tokens=max(60, tokens))
    return split(document, settings, WordPieces()).chunks


def test_context_names_the_enclosing_definitions() -> None:
    chunks = chunks_of(PYTHON, "text/x-python", tokens=40)
    contexts = {c.text.splitlines()[0].strip(): c.context for c in chunks}
    assert contexts["class Store:"] == "a.py › Store"
    assert contexts["# Comment that belongs to delete."] == "a.py › Store › delete"


def test_small_functions_are_chunks_of_their_own() -> None:
    text = "import os\n\ndef one():\n    return 1\n\ndef two():\n    return 2\n"
    chunks = chunks_of(text, "text/x-python", tokens=100)
    assert [chunk.context for chunk in chunks] == ["a.py", "a.py › one", "a.py › two"]


@pytest.mark.parametrize(
    ("line", "defines"),
    [
        ("class A(B):", True),
        ("async def f():", True),
        ("pub(crate) fn run<T>(x: T) {", True),
        ("func (s *Server) Close() error {", True),
        ("public static class Inner {", True),
        ("export default function () {", True),
        ("impl<T> Trait for T {", True),
        ("type Pair struct {", True),
        ("defaults = 1", False),
        ("classes = []", False),
        ("type(x)", False),
        ("module.exports = {}", False),
        ("return function_name(x)", False),
    ],
)
def test_what_is_a_definition(line: str, defines: bool) -> None:
    assert bool(code_outline(f"first = 1\n\n{line}\n    body\n").trails[-1]) == defines


@pytest.mark.parametrize(
    ("media_type", "expected"),
    [
        ("text/x-python", True),
        ("text/x-python; charset=utf-8", True),
        ("application/javascript", True),
        ("application/x-sh", True),
        ("text/css", True),
        ("text/plain", False),
        ("text/markdown", False),
        ("text/x-rst", False),
        ("text/x-tex", False),
        ("application/pdf", False),
        ("", False),
    ],
)
def test_media_types_of_code(media_type: str, expected: bool) -> None:
    assert is_code(media_type) == expected


@pytest.mark.parametrize("text", ["class A:\n" * 5000, "def f(:\n  )))\n" * 500, "x = '" * 3000])
def test_hostile_code_keeps_every_visible_character(text: str) -> None:
    parts = (chunk.text.split() for chunk in chunks_of(text, "text/x-python", tokens=200))
    assert "".join(map("".join, parts)) == "".join(text.split())


# --- split outline


SETEXT = "Top\n===\n\nUnder\n---\n\ntext\n\n---\n\nnot\na heading\n---\n"
RST = "=====\nTitle\n=====\n\nPart\n----\n\nSub\n~~~\n\nPart two\n--------\n\nOdd\n====\n"


@pytest.mark.parametrize(
    ("text", "media_type", "expected"),
    [
        *(
            (line, "text/markdown", [(len(line.split()[0]), title)])
            for line, title in (
                ("# Plain", "Plain"),
                ("## Closed ##", "Closed"),
                ("   ### *Emphasis* and `code`", "Emphasis* and code"),
                ("# [Link](https://example.org) {#anchor}", "Link"),
                ("# ![badge](b.svg)[Clew][1]", "badgeClew"),
                ("# C#", "C#"),
                ("# C# ##  ", "C#"),
            )
        ),
        *(
            (line, "text/markdown", [])
            for line in ("#tag", "####### seven", "    # code", "text # no", "#", "#!sh")
        ),
        # fenced code holds none
        (
            "# A\n```sh\n# comment\n```\n# B\n\n~~~\n# open to the end\n",
            "text/markdown",
            [(1, "A"), (1, "B")],
        ),
        (SETEXT, "text/markdown", [(1, "Top"), (2, "Under")]),
        # levels follow the order of adornments
        (
            RST,
            "text/x-rst",
            [(1, "Title"), (2, "Part"), (3, "Sub"), (2, "Part two"), (4, "Odd")],
        ),
        ("Sub\n~~~\n\nTop\n===\n", "text/plain", [(1, "Top")]),
    ],
)
def test_headings_are_read_without_their_markup(
    text: str, media_type: str, expected: list[tuple[int, str]]
) -> None:
    assert [(h.level, h.title) for h in headings(text, media_type)] == expected


def test_trails_follow_levels_even_where_one_is_left_out() -> None:
    text = "intro\n# A\n### A.x\n## A.y\n# B\n"
    found = outline(headings(text, "text/markdown"))
    assert found.trails == ((), ("A",), ("A", "A.x"), ("A", "A.y"), ("B",))
    assert [text[at : at + 3] for at in found.starts] == ["int", "# A", "###", "## ", "# B"]
    at = {title: text.index(f"# {title}") for title in ("A.x", "A.y", "B")}
    assert found.trail(at["A.x"], at["B"]) == ("A",)
    assert found.trail(at["A.x"], at["A.x"] + 2) == ("A", "A.x")
    assert found.trail(0, len(text)) == ()


def test_tables_are_two_lines_with_bars_or_more() -> None:
    text = "| a |\n|---|\n| 1 |\n\ntext\n| alone\n\n+---+\n| x |\n+---+"
    assert [text[a:b] for a, b in tables(text)] == ["| a |\n|---|\n| 1 |", "+---+\n| x |\n+---+"]


@pytest.mark.parametrize(
    ("title", "trail", "context"),
    [
        ("", (), ""),
        ("Title", (), "Title"),
        ("", ("A", "B"), "A › B"),
        ("Title", ("Title", "A"), "Title › A"),
        ("The  Title ", ("the title", "A", "A", "Title"), "The Title › A › Title"),
        ("Title", ("A", "Title"), "Title › A"),
        ("Title", ("", "  ", "A\nB"), "Title › A B"),
    ],
)
def test_context_is_title_and_trail(title: str, trail: tuple[str, ...], context: str) -> None:
    assert context_of(Document(source="s", text="x", title=title), trail) == context


# --- split pack


WEIGHTS = st.lists(st.tuples(st.integers(0, 10), st.sampled_from(Break)), min_size=1, max_size=60)


def line_up(weights: list[tuple[int, Break]]) -> list[Unit]:
    return [Unit(i, i + 1, weight, strength) for i, (weight, strength) in enumerate(weights)]


def total(units: list[Unit], start: int, end: int) -> int:
    return sum(unit.weight for unit in units[start:end])


@given(weights=WEIGHTS, limit=st.integers(10, 40), overlap=st.floats(0, 0.5))
def test_spans_cover_all_within_the_limit(
    weights: list[tuple[int, Break]], limit: int, overlap: float
) -> None:
    units = line_up(weights)
    spans = pack(units, limit, overlap=overlap)
    assert (spans[0][0], spans[-1][1]) == (0, len(units))
    assert all(total(units, *span) <= limit for span in spans)
    for (a, b), (c, d) in pairwise(spans):
        assert a < c <= b < d
        assert not any(units[i].strength >= Break.HEADING for i in range(c + 1, b + 1) if c < b)


@given(weights=WEIGHTS, always=st.sampled_from(Break))
def test_a_border_of_the_strength_asked_for_always_ends_a_span(
    weights: list[tuple[int, Break]], always: Break
) -> None:
    units = line_up(weights)
    ends = {end for _, end in pack(units, 1000, always=always)}
    assert ends == {i for i in range(1, len(units)) if units[i].strength is always} | {len(units)}


WORD, SENTENCE, PARAGRAPH = ((1, kind) for kind in (Break.WORD, Break.SENTENCE, Break.PARAGRAPH))


@pytest.mark.parametrize(
    ("weights", "limit", "overlap", "expected"),
    [
        # the strongest border wins over a fuller span
        ([*[SENTENCE] * 7, PARAGRAPH, *[SENTENCE] * 12], 12, 0.0, [(0, 7), (7, 13), (13, 20)]),
        # spans are evened out
        ([SENTENCE] * 21, 20, 0.0, [(0, 10), (10, 21)]),
        # an overlap goes back to a sentence, not into one
        (
            [*[SENTENCE, *[WORD] * 12], SENTENCE, *[WORD] * 6, SENTENCE, *[WORD] * 19],
            20,
            0.3,
            [(0, 20), (13, 26), (20, 40)],
        ),
    ],
)
def test_where_spans_end_and_begin(
    weights: list[tuple[int, Break]], limit: int, overlap: float, expected: list[tuple[int, int]]
) -> None:
    assert pack(line_up(weights), limit, overlap=overlap) == expected


def test_what_fits_has_the_last_word() -> None:
    units = line_up([(1, Break.SENTENCE)] * 30)
    spans = pack(units, 10, fits=lambda first, last: last.end - first.start <= 6)
    assert max(b - a for a, b in spans) == 6
    assert pack(units[:1], 10, fits=lambda *_: False) == [(0, 1)]


# --- split semantic


def test_chunks_end_where_the_topic_turns() -> None:
    topics = [" ".join(f"The {topic} of day {i} was good." for i in range(5)) for topic in TOPICS]
    settings = SplitSettings(strategy="semantic", chunk_tokens=128, section_tokens=400)
    chunks = split(of(" ".join(topics)), settings, WordPieces()).chunks
    assert [c.text for c in chunks] == topics
