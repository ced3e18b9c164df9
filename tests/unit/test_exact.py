"""What a question names exactly comes first, whatever the strategy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import clew
from clew.indexing.reading.reader import document_from_text
from clew.search.retrieval.exact import exact_names, numbers, quoted_phrases, stands_in
from clew.search.strategies import STRATEGIES
from clew.testing.fakes import HashEmbedder
from clew.text import name_key, split_file_name

EXACT_FIRST = ["auto", *(n for n, line in STRATEGIES.items() if line.finds == "exact")]

# By source: title and text. What is sought shares few words with the question, or none.
LIBRARY = {
    "standards/rfc2616.txt": ("Hypertext Transfer", "Messages are requests and responses."),
    "standards/rfc26160.txt": ("Another", "RFC 2616 RFC 2616 RFC 2616, again and again."),
    "standards/pep-0287.rst": ("reStructuredText Docstrings", "The markup that modules may use."),
    "standards/pep-0256.rst": ("Docstring Framework", "See PEP 287, and PEP 287, and PEP 258."),
    "rules/charter.1.1.txt": ("Charter", "Ratified in spring. The chair is elected."),
    "rules/charter.1.2.txt": ("Charter", "Ratified in autumn. The chair is drawn by lot."),
    "books/ayli.txt": ("As You Like It", "All the world is a stage."),
    "notes/like.txt": ("Notes", "I like what you like, and you like it as well; like it or not."),
    "code/alpha/lib.rs": ("lib.rs", "pub fn first() {}"),
    "code/semver/lib.rs": ("lib.rs", "pub fn second() {}"),
    "log/news.txt": ("Changes", "0.10.4 (July): ports 1.2 and 1.3 are gone. 0.10.40 comes later."),
    "log/more.txt": (
        "Changes",
        "0.4.10, 4.0.10 and 10.0.4: released, released, released 0.10.44",
    ),
    "releases/3_35_0.html": ("Release of March", "The planner is quicker."),
    "releases/v4.1.2.md": ("Notes", "The shell is quicker."),
    "releases/later.txt": ("Later", "3.35.0 4.1.2 5.6.7 changes, changes, changes since 3.35.0."),
    "releases/more.txt": ("More", "Changes of 3.35.0, of 4.1.2, of 5.6.7 and since."),
    "releases/most.txt": ("Most", "5.6.7 again: changes. 3.35.0 and 4.1.2 too."),
    "releases/last.txt": ("Last", "5.6.7 changes 5.6.7 changes 3.35.0 changes 4.1.2."),
    "releases/summer.txt": ("Release 5.6.7 of 3 June", "It is quick. 5.6.7 is what it is called."),
    "notes/quiet.txt": ("Harbour", "The old harbour lies quiet at night, the boats asleep."),
    "notes/loud.txt": ("Night", "At night the quiet boats lie in the old harbour; quiet harbour."),
}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[clew.Clew]:
    with clew.open(tmp_path / "store", embedder=HashEmbedder()) as engine:
        engine.add_documents(
            document_from_text(text, source=source, title=title, media_type="text/plain")
            for source, (title, text) in LIBRARY.items()
        )
        yield engine


@pytest.mark.parametrize(
    "strategy", ["auto", *(n for n, s in STRATEGIES.items() if s.finds == "exact")]
)
@pytest.mark.parametrize(
    ("question", "source"),
    [
        ("RFC 2616", "standards/rfc2616.txt"),
        ("rfc2616.txt", "standards/rfc2616.txt"),
        ("What is rfc-2616 about?", "standards/rfc2616.txt"),
        ("PEP 287", "standards/pep-0287.rst"),
        ("What is in charter.1.2.txt?", "rules/charter.1.2.txt"),
        ("charter version 1.1", "rules/charter.1.1.txt"),
        ("As You Like It", "books/ayli.txt"),
        ("lib.rs of semver", "code/semver/lib.rs"),
        ("When was 0.10.4 released?", "log/news.txt"),
        ("changes 3.35.0", "releases/3_35_0.html"),
        ("What are the changes in 4.1.2?", "releases/v4.1.2.md"),
        ("What are the changes of 5.6.7?", "releases/summer.txt"),
        ('"harbour lies quiet"', "notes/quiet.txt"),
        ("Where is it that the “old harbour lies”?", "notes/quiet.txt"),
    ],
)
def test_what_is_named_comes_first(
    engine: clew.Clew, strategy: str, question: str, source: str
) -> None:
    result = engine.search(question, strategy=strategy, limit=5)
    assert result.hits[0].chunk.source == source
    assert result.hits[0].scores["exact"] == 1.0
    ids = [hit.chunk.id for hit in result.hits]
    assert len(set(ids)) == len(ids)
    scores = [hit.score for hit in result.hits]
    assert scores == sorted(scores, reverse=True)


def test_no_name_moves_nothing_and_filters_hold(engine: clew.Clew) -> None:
    plain = engine.search("requests and responses at night", strategy="keyword")
    assert all("exact" not in hit.scores for hit in plain.hits)
    other = engine.search("RFC 2616", strategy="keyword", where=["path=rfc26160.txt"])
    assert [hit.chunk.source for hit in other.hits] == ["standards/rfc26160.txt"]


def test_the_rest_of_the_question_chooses_the_passage(tmp_path: Path) -> None:
    text = "\n\n".join(f"# Part {word}\n\n" + f"All about {word}. " * 80 for word in WORDS)
    with clew.open(tmp_path / "store", embedder=HashEmbedder()) as engine:
        engine.add_documents(
            [document_from_text(text, source="rfc77.md", title="T", media_type="text/markdown")]
        )
        for word in WORDS:
            hit = engine.search(f"rfc77.md {word}", strategy="keyword").hits[0]
            assert word in hit.chunk.text
        assert engine.search("RFC 77", strategy="keyword").hits[0].chunk.ordinal == 0


WORDS = ("walnuts", "herrings", "tractors")


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("RFC 2616", "rfc 2616"),
        ("pep-0287", "pep 287"),
        ("constitution.1.2", "constitution 1 2"),
        ("release-5.3.0", "release 5 3 0"),
        ("Élan_007", "elan 7"),
        ("—", ""),
    ],
)
def test_keys_of_names(name: str, key: str) -> None:
    assert name_key(name) == key


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/b/rfc2616.txt", ("rfc2616", "txt")),
        ("C:\\notes\\Plan.MD", ("Plan", "md")),
        ("constitution.1.2", ("constitution.1.2", "")),
        (".profile", (".profile", "")),
        ("folder/", ("folder", "")),
        ("", ("", "")),
    ],
)
def test_file_names(path: str, expected: tuple[str, str]) -> None:
    assert split_file_name(path) == expected


def test_names_in_a_question() -> None:
    names = exact_names("Does RFC 2616 in 2004 say so, as in notes.md?")
    keys = {(name.key, name.ending) for name in names}
    assert {("rfc 2616", ""), ("notes", "md")} <= keys
    assert ("may be", "") in {(name.key, name.ending) for name in exact_names('Who says "may be"?')}
    assert not {key for key, _ in keys} & {"2004", "in 2004", "2616"}
    assert exact_names("") == exact_names(" … ") == []


def test_what_is_quoted_in_passing_is_not_sought() -> None:
    asked = 'When was the singer born who has a husky voice and whose third album is "Diamond Cut"?'
    assert quoted_phrases(asked) == []
    assert quoted_phrases('Who sings "Diamond Cut"?') == ["Diamond Cut"]


def test_a_number_stands_by_itself() -> None:
    assert numbers("Is v0.10.4, of 3 or PO-55831 (1.1) late in 2021? See e.g. 4.2.") == [
        "v0.10.4",
        "PO-55831",
        "1.1",
        "4.2",
    ]
    assert all(stands_in(text, "1.1") for text in ("1.1", "(1.1)", "see 1.1.", "1.1, 1.2", "§1.1"))
    assert not any(stands_in(text, "1.1") for text in ("1.1.2", "2.1.1", "1.10", "1.1-2", "11"))


def test_a_number_that_many_passages_hold_tells_nothing_apart(engine: clew.Clew) -> None:
    for place in range(4):
        engine.add(f"Section 7-4 speaks of boats, {place} of them.", source=f"many/{place}.txt")
    hits = engine.search("Where does the old harbour of 7-4 lie quiet?").hits
    assert hits[0].chunk.source == "notes/quiet.txt"


def test_quotations() -> None:
    assert quoted_phrases('"one  two" and “three” and «four» and "one two"') == [
        "one two",
        "three",
        "four",
    ]
    assert quoted_phrases('5" by 7", and an "open one') == quoted_phrases('""') == []
