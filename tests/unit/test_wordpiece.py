"""WordPiece in Python: the ids and offsets of `tokenizers`, for any text."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unicodedata import combining

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clew.errors import MissingExtraError, ModelError
from clew.models.locate import locate_model
from clew.models.wordpiece import (
    LibraryTokenizer,
    Tokenizer,
    WordPiece,
    is_uncased,
    load_tokenizer,
)

ROOT = Path(__file__).parents[2]
FILE = locate_model("all-MiniLM-L6-v2").tokenizer
OURS, THEIRS = load_tokenizer(FILE), LibraryTokenizer(FILE)
MOST = 12

# Of marks out of their order, `tokenizers` moves the places of some that are no accents.
characters = st.characters(codec="utf-8").filter(lambda c: not combining(c))
accents = st.sampled_from("\u0300\u0301\u0308\u0323\u0327\u0345\u05b0\u064b\u093c\u094d\u3099")
pieces = st.one_of(
    characters,
    accents,
    st.characters(max_codepoint=0x7F),
    st.sampled_from("aeinorst .,'-_0123"),
    st.sampled_from("中文字例日本語한국어ไทยहिन्दी"),
    st.sampled_from("😀👩🏽‍💻🏴\U000e0067\U000e007f\ufe0f🇩🇪"),
    st.sampled_from("\x00\x0b\x0c\x1c\x7f\x85\xa0\xad\u200b\u200c\u200d\u2028\u3000\ufeff\ufffd"),
    st.sampled_from("İıẞßſǅΣςﬁﬃÅK①ª²½"),
    st.sampled_from(["[SEP]", "[CLS]", "[UNK]", "[PAD]", "[MASK]", "[sep]", "[SEP", "##s"]),
    st.sampled_from(["embeddings", "Zürich", "naïve", "x" * 100, "y" * 101, "ﬁ" * 101]),
)
texts = st.one_of(st.text(characters), st.lists(pieces, max_size=40).map("".join))


def assert_equal(text: str) -> None:
    theirs = THEIRS.encode(text)
    assert OURS.encode(text) == theirs
    assert OURS.count(text) == len(theirs.ids)
    assert OURS.inputs([text], MOST) == THEIRS.inputs([text], MOST)


@given(text=texts)
@example("x[SEP]y [SEP]\u0301 [sep] [SE\x00P]")
@example("e\u0301\u200b\u0327te\u0301 \u0301a \u1e69\u0307")
@example("\u00c5ngstr\u00f6m \u212b \u0130stanbul \ufb01ne Stra\u00dfe")
@example("a\x0bb\x85c\u00a0d\u2028e")
def test_ids_and_offsets_are_those_of_tokenizers(text: str) -> None:
    assert_equal(text)


@given(text=st.lists(st.one_of(pieces, st.characters(categories=["Cs"])), max_size=20))
def test_lone_surrogates_are_question_marks(text: list[str]) -> None:
    joined = "".join(text)

    assert_equal(joined)
    assert OURS.encode("\ud800") == OURS.encode("?")


def test_every_character_is_read_as_by_tokenizers() -> None:
    """But for private ones and the bulk of the ideographs, which take half a minute."""
    planes = (range(0x3400), range(0xA000, 0xAC10), range(0xD7A0, 0xD800), range(0xF8F0, 0x17000))
    rest = (range(0x1B000, 0x20010), range(0x2A6D0, 0x2FA20, 13), range(0x2F800, 0x2FA20))
    for part in (*planes, *rest, range(0xE0000, 0xE0200), range(0x10FFF0, 0x110000)):
        text = " ".join(f"a{chr(char)}b {chr(char)}." for char in part)
        assert OURS.encode(text) == THEIRS.encode(text)


@pytest.mark.parametrize("kind", ["docs/*.md", "src/clew/languages/*", "tests/unit/test_t*.py"])
def test_texts_are_read_as_by_tokenizers(kind: str) -> None:
    files = [file for file in sorted(ROOT.glob(kind)) if file.is_file()]

    assert files
    for file in files:
        assert_equal(file.read_text("utf-8"))


def test_threads_share_it() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    fresh = WordPiece(json.loads(FILE.read_text("utf-8")))

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(fresh.encode, [text] * 16))

    assert found == [THEIRS.encode(text)] * 16


def test_the_bundled_models_share_one() -> None:
    assert len({load_tokenizer(locate_model(one).tokenizer) for one in ("reader", "tagger")}) == 1


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    file: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    change(file)
    return file


OTHERS: dict[str, Callable[[dict[str, Any]], object]] = {
    "another model": lambda file: file["model"].update(type="BPE"),
    "cased": lambda file: file["normalizer"].update(lowercase=False),
    "with accents": lambda file: file["normalizer"].update(strip_accents=False),
    "uncleaned": lambda file: file["normalizer"].update(clean_text=False),
    "no normaliser": lambda file: file.update(normalizer=None),
    "split otherwise": lambda file: file["pre_tokenizer"].update(type="Whitespace"),
    "nothing around it": lambda file: file.update(post_processor=None),
    "other ends": lambda file: file["post_processor"]["single"].pop(),
    "a token of letters": lambda file: file["added_tokens"][0].update(content="pad"),
    "a token that strips": lambda file: file["added_tokens"][0].update(lstrip=True),
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_tokenizer_is_read_by_the_library(name: str) -> None:
    assert not is_uncased(changed(OTHERS[name]))


def test_without_the_library_another_one_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(changed(OTHERS["cased"])), "utf-8")
    cased = load_tokenizer(path)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    other = path.rename(tmp_path / "other.json")

    with pytest.raises(MissingExtraError, match=r"pip install 'clew\[hub\]'"):
        load_tokenizer(other)
    assert isinstance(cased, LibraryTokenizer)


@pytest.mark.parametrize("content", ["{", "[]", '{"model": {"type": "WordPiece"}}'])
def test_what_is_no_tokenizer_says_so(tmp_path: Path, content: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(content, "utf-8")

    with pytest.raises(ModelError, match="cannot read the tokenizer"):
        load_tokenizer(path)


@pytest.mark.parametrize("tokenizer", [OURS, THEIRS])
def test_what_a_model_reads_is_cut_and_framed(tokenizer: Tokenizer) -> None:
    cls, sep, unknown = map(tokenizer.token_id, ("[CLS]", "[SEP]", "no such token"))
    word = tokenizer.token_id("word")

    made = tokenizer.inputs(["word " * 9, "word", ""], 5)

    assert made == [[cls, word, word, word, sep], [cls, word, sep], [cls, sep]]
    assert unknown == 0 < word
