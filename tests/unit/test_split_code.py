from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from clew.indexing.splitting.code import code_outline, is_code
from clew.indexing.splitting.split import split
from clew.settings import SplitSettings
from clew.types import Chunk, Document

if TYPE_CHECKING:
    from clew.types import Vectors

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

JAVASCRIPT = """const limit = 3;
// Adds one.
export async function add(a) {
  const b = a + 1;

  return b;
}
/* Takes one. */
function take(a) {
  return a - 1;
}
"""


class Words:
    max_tokens = 256

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        raise AssertionError(f"code needs no embeddings, asked for {texts!r}")


def chunks_of(text: str, media_type: str, tokens: int = 16) -> tuple[Chunk, ...]:
    document = Document(source="s", text=text, title="a.py", media_type=media_type)
    settings = SplitSettings(chunk_tokens=tokens, section_tokens=max(60, tokens))
    return split(document, settings, Words()).chunks


def test_functions_and_classes_begin_chunks() -> None:
    first_lines = [c.text.splitlines()[0].strip() for c in chunks_of(PYTHON, "text/x-python")]
    assert {"@cache", "class Store:", "# Comment that belongs to delete."} <= set(first_lines)
    assert "def first(a: int) -> int:" not in first_lines
    assert "def delete(self, thing: str) -> None:" not in first_lines


def test_context_names_the_enclosing_definitions() -> None:
    chunks = chunks_of(PYTHON, "text/x-python")
    contexts = {c.text.splitlines()[0].strip(): c.context for c in chunks}
    assert contexts["class Store:"] == "a.py › Store"
    delete = contexts["# Comment that belongs to delete."]
    assert delete == "a.py › Store › delete"


def test_braces_close_with_their_function_and_comments_open_it() -> None:
    texts = [c.text for c in chunks_of(JAVASCRIPT, "text/javascript", tokens=20)]
    assert [text.splitlines()[0] for text in texts] == [
        "const limit = 3;",
        "// Adds one.",
        "/* Takes one. */",
    ]
    assert texts[1].endswith("return b;\n}")


def test_a_closing_brace_after_a_blank_line_stays_with_its_function() -> None:
    call = "  call(first, second, third);\n"
    chunks = chunks_of(f"function one() {{\n{call * 7}\n}}\n\n{call * 3}", "text/javascript")
    assert not any(c.text.startswith("}") for c in chunks)


def test_long_function_is_cut_at_lines() -> None:
    body = "\n".join(f"    value_{i} = compute({i})" for i in range(60))
    lines = set(map(str.strip, body.splitlines())) | {"def long():"}
    chunks = chunks_of(f"def long():\n{body}\n", "text/x-python")
    assert len(chunks) > 5
    assert {line.strip() for c in chunks for line in c.text.splitlines()} == lines
    assert all(c.context == "a.py › long" for c in chunks)


def test_trail_ends_where_the_definition_does() -> None:
    found = code_outline(PYTHON)
    trails = dict(zip(found.trails, (PYTHON[s : s + 5] for s in found.starts), strict=True))
    assert ("class Store", "def save(self, thing: str) -> None") in trails
    assert trails["def last() -> None",] == "def l"
    closed = code_outline("x = 1\n\ndef f():\n    return 1\n\n\nf()\n")
    assert closed.trails == ((), ("def f()",), ())


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
    trail = code_outline(f"first = 1\n\n{line}\n    body\n").trails[-1]
    assert bool(trail) == defines


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


def test_code_strategy_and_media_type_agree() -> None:
    by_type = chunks_of(PYTHON, "text/x-ruby")
    settings = SplitSettings(strategy="code", chunk_tokens=16, section_tokens=60)
    document = Document(source="s", text=PYTHON, title="a.py", media_type="text/plain")
    assert split(document, settings, Words()).chunks == by_type


def test_small_functions_are_chunks_of_their_own() -> None:
    text = "import os\n\ndef one():\n    return 1\n\ndef two():\n    return 2\n"
    chunks = chunks_of(text, "text/x-python", tokens=100)
    assert [chunk.context for chunk in chunks] == ["a.py", "a.py › one", "a.py › two"]


def test_a_class_that_fits_is_one_chunk() -> None:
    text = "class Box:\n    def one(self):\n        pass\n\n    def two(self):\n        pass\n"
    (chunk,) = chunks_of(f"x = 1\n{text}", "text/x-python", tokens=100)[-1:]
    assert (chunk.context, chunk.text) == ("a.py › Box", text.strip())


@pytest.mark.parametrize("text", ["class A:\n" * 5000, "def f(:\n  )))\n" * 500, "x = '" * 3000])
def test_hostile_code_keeps_every_visible_character(text: str) -> None:
    chunks = chunks_of(text, "text/x-python", tokens=200)
    kept = "".join("".join(chunk.text.split()) for chunk in chunks)
    assert kept == "".join(text.split())


def test_code_without_a_name_is_one_chunk() -> None:
    assert len(chunks_of("(" * 100_000, "text/x-python", tokens=200)) == 1
