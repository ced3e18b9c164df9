from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InputError
from clew.indexing.splitting.split import split
from clew.models.onnx import OnnxEmbedder
from clew.settings import EmbedSettings, SplitSettings, SplitStrategy
from clew.types import Chunk, Document, Piece, Split

if TYPE_CHECKING:
    from clew.types import Vectors

_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u9fff\U00020000-\U0002ffff"
_WORD_PIECE = re.compile(rf"[{_IDEOGRAPHS}]|[^\W{_IDEOGRAPHS}]+|[^\w\s]")

STRATEGIES = get_args(SplitStrategy)
SMALL = SplitSettings(chunk_tokens=20, section_tokens=60)


class WordPieces:
    """Counts as WordPiece does: four letters a token, ideographs singly, a blob as one unknown."""

    def __init__(self, max_tokens: int = 256) -> None:
        self.max_tokens = max_tokens
        self.counted: list[str] = []

    def count_tokens(self, text: str) -> int:
        self.counted.append(text)
        return sum(self._pieces(word) for word in text.split())

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return np.stack([_direction(text) for text in texts]).astype(np.float32)

    def _pieces(self, word: str) -> int:
        return 1 if len(word) > 100 else sum(-(-len(p) // 4) for p in _WORD_PIECE.findall(word))


class BorderPieces(WordPieces):
    """Finds one more token wherever a sentence follows another."""

    def count_tokens(self, text: str) -> int:
        return super().count_tokens(text) + text.count(". ")


def _direction(text: str) -> np.ndarray:
    digest = hashlib.sha256(text.encode("utf-8", "replace")).digest()
    vector = np.frombuffer(digest, dtype=np.uint8).astype(np.float64) - 127.5
    return np.asarray(vector / np.linalg.norm(vector))


def of(text: str, title: str = "", media_type: str = "text/markdown") -> Document:
    return Document(source="a.md", text=text, title=title, media_type=media_type)


def check_invariants(
    document: Document, result: Split, settings: SplitSettings, tokens: WordPieces
) -> None:
    text = document.text
    assert "".join(text[s.start : s.end] for s in result.sections) == text
    assert [s.ordinal for s in result.sections] == list(range(len(result.sections)))
    assert [c.ordinal for c in result.chunks] == list(range(len(result.chunks)))
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
    strategy=st.sampled_from(STRATEGIES),
    chunk_tokens=st.integers(16, 60),
    section_factor=st.integers(1, 4),
    overlap=st.floats(0, 0.5),
    title=st.sampled_from(["", "A title", "T " * 40, "z" * 400]),
    media_type=st.sampled_from(["text/markdown", "text/x-rst", "text/x-python", "text/plain"]),
    max_tokens=st.sampled_from([16, 32, 256]),
)
def test_chunks_rebuild_the_document(
    text: str,
    strategy: SplitStrategy,
    chunk_tokens: int,
    section_factor: int,
    overlap: float,
    title: str,
    media_type: str,
    max_tokens: int,
) -> None:
    settings = SplitSettings(
        strategy=strategy,
        chunk_tokens=chunk_tokens,
        section_tokens=chunk_tokens * section_factor,
        overlap=overlap,
    )
    tokens = WordPieces(max_tokens)
    document = of(text, title, media_type)
    result = split(document, settings, tokens)
    check_invariants(document, result, settings, tokens)
    assert uncovered(text, result.chunks) == ""


@given(parts=st.lists(TEXTS, min_size=1, max_size=8), strategy=st.sampled_from(STRATEGIES))
def test_pieces_are_chunks_and_keep_key_and_metadata(
    parts: list[str], strategy: SplitStrategy
) -> None:
    settings = SMALL.model_copy(update={"strategy": strategy})
    tokens = WordPieces()
    text, pieces = "", []
    for i, part in enumerate(parts):
        text += "\n" if i else ""
        start = len(text)
        text += part
        pieces.append(Piece(start=start, end=len(text), key=f"k{i}", metadata={"n": i}))
    document = Document(source="log", text=text, title="Log", pieces=tuple(pieces))
    result = split(document, settings, tokens)
    check_invariants(document, result, settings, tokens)
    for piece in pieces:
        own = [c for c in result.chunks if c.key == piece.key]
        assert bool(own) == bool(text[piece.start : piece.end].strip())
        assert all(piece.start <= c.start and c.end <= piece.end for c in own)
        assert all(c.metadata == piece.metadata for c in own)
    assert uncovered(text, result.chunks) == ""


def test_piece_that_fits_is_one_chunk() -> None:
    text = "Ann: Hello there. How are you?\nBob: Fine."
    at = text.index("Bob")
    pieces = (Piece(start=0, end=at - 1, key="1"), Piece(start=at, end=len(text), key="2"))
    document = Document(source="log", text=text, title="Chat", pieces=pieces)
    result = split(document, SMALL, WordPieces())
    assert [(c.key, c.text, c.context) for c in result.chunks] == [
        ("1", "Ann: Hello there. How are you?", "Chat"),
        ("2", "Bob: Fine.", "Chat"),
    ]
    assert len(result.sections) == 1


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


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_short_document_costs_one_count(strategy: SplitStrategy) -> None:
    tokens = WordPieces()
    document = of("  A short text.\n", "Title")
    result = split(document, SplitSettings(strategy=strategy), tokens)
    assert len(tokens.counted) == 1
    assert [(c.start, c.end, c.context) for c in result.chunks] == [(2, 15, "Title")]
    assert [(s.start, s.end) for s in result.sections] == [(0, 16)]


def test_blank_text_has_a_section_and_no_chunk() -> None:
    result = split(of(" \n\t\u3000"), SMALL, WordPieces())
    assert result.chunks == ()
    assert [(s.start, s.end, s.headings) for s in result.sections] == [(0, 4, ())]
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
    by_trail = {s.headings: GUIDE[s.start : s.end] for s in result.sections}
    assert set(by_trail) == {("Guide",), ("Guide", "Install"), ("Guide", "Use"), ("Appendix",)}
    assert by_trail["Guide", "Use"].startswith("## Use")
    assert by_trail[("Appendix",)] == "# Appendix\n\nTiny.\n"
    assert {c.context for c in result.chunks} == {
        "Guide", "Guide › Install", "Guide › Use", "Guide › Appendix",
    }  # fmt: skip
    for chunk in result.chunks:
        subject = chunk.context.split(" › ")[-1]
        assert all(s == subject for s in re.findall(r"(\w+) number", chunk.text) if s != "Preface")


def test_small_siblings_share_a_section_but_never_two_top_headings() -> None:
    text = "# A\n\n## One\n\nx.\n\n## Two\n\ny.\n\n# B\n\n## Three\n\nz.\n" + sentences_of("Z", 9)
    sections = split(of(text), SMALL, WordPieces()).sections
    assert sections[0].headings == ("A",)
    assert text[sections[0].start : sections[0].end] == text[: text.index("# B")]
    assert sections[1].headings[0] == "B"


def test_tiny_sections_under_different_top_headings_stay_apart() -> None:
    text = "Preface.\n\n# A\n\na.\n\n# B\n\nb.\n\n## C\n\nc.\n\n" + sentences_of("Z", 9)
    sections = split(of(text), SMALL, WordPieces()).sections
    assert [s.headings for s in sections][:3] == [(), ("B",), ("B", "C")]
    assert text[: sections[0].end] == text[: text.index("# B")]


def test_heading_stays_with_its_text() -> None:
    text = sentences_of("Before", 4) + "\n\n## Next\n\n" + sentences_of("After", 4)
    for chunk in split(of(text), SMALL, WordPieces()).chunks:
        assert not chunk.text.endswith("Next")


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


def test_number_of_a_list_item_stays_with_it() -> None:
    text = "\n".join(f"{i}. Item number {i} says this. And then that." for i in range(1, 30))
    for chunk in split(of(text), SMALL, WordPieces()).chunks:
        assert not re.search(r"\d\.$", chunk.text)


def test_text_without_sentences_is_cut_between_words() -> None:
    text = " ".join(f"word{i}" for i in range(300))
    chunks = split(of(text), SMALL, WordPieces()).chunks
    words = set(text.split())
    assert all(set(c.text.split()) <= words for c in chunks)
    assert all(b.start < a.end for a, b in pairwise(chunks) if a.section == b.section)


def test_word_that_fits_is_never_cut() -> None:
    url = "https://example.org/" + "/".join(f"p{i}" for i in range(8))
    text = " ".join(f"{url}-{i}" for i in range(20))
    settings = SplitSettings(chunk_tokens=64, section_tokens=200)
    for chunk in split(of(text), settings, WordPieces()).chunks:
        assert set(chunk.text.split()) <= set(text.split())


def test_blob_is_cut_hard_even_where_the_tokenizer_calls_it_one_token() -> None:
    blob = "QUJD" * 2500
    chunks = split(of(f"Before. {blob} After."), SMALL, WordPieces()).chunks
    assert max(len(c.text) for c in chunks) <= 12 * SMALL.chunk_tokens + 11
    assert uncovered(f"Before. {blob} After.", chunks) == ""


def test_long_blank_run_ends_a_chunk() -> None:
    text = "Before." + "\n" * 5000 + "After."
    assert [c.text for c in split(of(text), SMALL, WordPieces()).chunks] == ["Before.", "After."]


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


def test_unspaced_scripts_are_cut_at_sentences_in_code_points() -> None:
    text = "𠮷野家で食べた。" * 40
    chunks = split(of(text), SMALL, WordPieces()).chunks
    assert len(chunks) > 10
    assert all(c.text.startswith("𠮷") and c.text.endswith("。") for c in chunks)


def test_tokenizer_that_counts_borders_has_the_last_word() -> None:
    text = " ".join(f"Line {i} says so." for i in range(60))
    settings = SplitSettings(chunk_tokens=40, section_tokens=200)
    tokens = BorderPieces()
    for chunk in split(of(text), settings, tokens).chunks:
        assert tokens.count_tokens(chunk.text) <= 40


# --- context -----------------------------------------------------------------------------


def test_long_context_takes_at_most_a_quarter_and_keeps_title_and_last_heading() -> None:
    text = "# " + "outer " * 15 + "\n## " + "middle " * 15 + "\n### Inner\n" + sentences_of("S", 40)
    tokens = WordPieces(max_tokens=102)
    chunks = split(of(text, "Title"), SplitSettings(chunk_tokens=80), tokens).chunks
    deep = [c for c in chunks if "Inner" in c.context]
    assert deep
    assert {c.context for c in deep} == {"Title › Inner"}
    assert all(tokens.count_tokens(c.context) <= 25 for c in chunks)


def test_long_title_is_cut_between_words() -> None:
    tokens = WordPieces(max_tokens=102)
    title = "every word stays whole " * 20
    (chunk,) = split(of("Text.", title), SplitSettings(), tokens).chunks
    assert chunk.context == "every word stays whole " * 3 + "every word"
    (chunk,) = split(of("Text.", "z" * 5000), SplitSettings(), tokens).chunks
    assert 0 < len(chunk.context) <= 300


# --- pages -------------------------------------------------------------------------------


def paged(*pages: str) -> Document:
    starts = [sum(len(page) + 2 for page in pages[:i]) for i in range(len(pages))]
    return Document(source="a.pdf", text="\n\n".join(pages), page_starts=tuple(starts))


def test_page_of_a_chunk_is_where_it_starts() -> None:
    document = paged(*(sentences_of(f"P{i}", 5) for i in range(1, 5)))
    chunks = split(document, SMALL, WordPieces()).chunks
    assert [c.page for c in chunks] == [int(c.text[1]) for c in chunks]
    assert {c.page for c in chunks} == {1, 2, 3, 4}


def test_recursive_does_not_cut_a_sentence_that_runs_over_the_page() -> None:
    opening = sentences_of("One", 3) + " This one goes on"
    document = paged(opening, "over the page. " + sentences_of("Two", 3))
    settings = SplitSettings(chunk_tokens=40, section_tokens=80)
    texts = [c.text for c in split(document, settings, WordPieces()).chunks]
    assert len(texts) > 1
    assert not any(text.startswith("over the page.") for text in texts)


def test_page_strategy_ends_chunks_at_pages_even_within_a_sentence() -> None:
    document = paged("Short.", "Ends in the middle of", "a sentence. " * 12, "# Heading\n\nEnd.")
    settings = SplitSettings(strategy="page", chunk_tokens=20, section_tokens=80)
    chunks = split(document, settings, WordPieces()).chunks
    assert [c.text for c in chunks[:2]] == ["Short.", "Ends in the middle of"]
    for start in document.page_starts[1:]:
        assert not any(c.start < start < c.end for c in chunks)


def test_short_paged_document_is_one_chunk_unless_pages_are_asked_for() -> None:
    document = paged("One.", "Two.")
    assert [c.page for c in split(document, SplitSettings(), WordPieces()).chunks] == [1]
    by_page = split(document, SplitSettings(strategy="page"), WordPieces())
    assert [(c.page, c.text) for c in by_page.chunks] == [(1, "One."), (2, "Two.")]


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
