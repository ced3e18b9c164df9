"""A graph of one's own: its mapping, wording and Cypher."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InputError
from clew.plugins.neo4j.attached import LONGEST_NAME, MAX_WORDS, lucene_words, spans
from clew.plugins.neo4j.connection import lucene_phrases
from clew.plugins.neo4j.cypher import with_directions, with_parameters
from clew.plugins.neo4j.mapping import (
    EntityMapping,
    GraphMapping,
    GraphSchema,
    MentionMapping,
    PassageMapping,
    RelationMapping,
    TypeInfo,
    quoted,
    read_mapping,
)

# --- attach mapping


WHOLE = """\
[passages]
label = "Chunk"
text = "text"
vector_index = "chunk_vectors"

[entities]
labels = ["Person", "Place"]
name = "name"

[mentions]
types = ["MENTIONS"]
direction = "in"

[relations]
types = ["KNOWS"]
"""


def read(folder: Path, text: str) -> GraphMapping:
    path = folder / "mapping.toml"
    path.write_text(text, encoding="utf-8")
    return read_mapping(path)


def test_a_mapping_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, WHOLE) == GraphMapping(
        passages=PassageMapping(label="Chunk", text="text", vector_index="chunk_vectors"),
        entities=EntityMapping(labels=("Person", "Place"), name="name"),
        mentions=MentionMapping(types=("MENTIONS",), direction="in"),
        relations=RelationMapping(types=("KNOWS",)),
    )


def test_the_mapping_that_the_page_shows_is_one(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "neo4j.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```toml\n(\[passages\].*?)^```$", page, re.MULTILINE | re.DOTALL)
    mapping = read(tmp_path, example)
    assert (mapping.passages.label, mapping.relations.types) == ("Article", ("APPRENTICE_OF",))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[passages]", "[passages", "is not TOML"),
        ('label = "Chunk"\n', "", r"passages\.label: Field required"),
        ('label = "Chunk"', 'label = ""', r"passages\.label: .*at least 1"),
        ('text = "text"', 'text = "text"\ntitel = "t"', r"passages\.titel: Extra inputs"),
        ('vector_index = "chunk_vectors"', "", "expected vector_index, fulltext_index or both"),
        ('["Person", "Place"]', "[]", r"entities\.labels: .*at least 1"),
        ('direction = "in"', 'direction = "up"', r"mentions\.direction: .*'out', 'in' or 'both'"),
        ('[mentions]\ntypes = ["MENTIONS"]\ndirection = "in"\n', "", "or neither"),
        (WHOLE[WHOLE.index("[entities]") : WHOLE.index("[relations]")], "",
         r"expected \[entities\], since \[relations\]"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in WHOLE

    with pytest.raises(InputError, match=message):
        read(tmp_path, WHOLE.replace(old, new))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Person", "`Person`"),
        ("a`b", "`a``b`"),
        ("\\u0060", "`\\u005Cu0060`"),
        ("two words", "`two words`"),
    ],
)
def test_names_are_quoted(name: str, expected: str) -> None:
    assert quoted(name, {name}, "label") == expected


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    known = [f"L{number:02}" for number in range(30)]

    with pytest.raises(InputError, match=r"no label 'X'; it has 'L00', .*'L19' and 10 more"):
        quoted("X", known, "label")


# --- attach wording


# What a query parser takes for more than a word.
OPERATORS = set('+-!(){}[]^"~*?:\\/&|')


def texts(question: str) -> list[str]:
    return [span["text"] for span in spans(question)]


def test_spans_are_all_runs_of_words_that_may_be_names() -> None:
    found = texts("Who taught Ada Morn's sister?")

    assert {"Ada Morn", "Ada", "Morn", "taught", "sister", "Ada Morn sister"} <= set(found)
    assert "Who" not in found
    assert not [text for text in found if "'s" in text]


@pytest.mark.parametrize("name", ["O'Neill", "Jean-Luc", "AT&T", "U.S", "3M", "Zoë"])
def test_marks_within_names_stay(name: str) -> None:
    assert name in texts(f"Where is {name} now?")


def test_scripts_without_spaces_are_read_by_character() -> None:
    assert {"東京", "東京タワー"} <= set(texts("東京タワーはいつ?"))


@given(st.text(max_size=300))
def test_spans_are_bounded(question: str) -> None:
    found = spans(question)

    assert len(found) <= MAX_WORDS * LONGEST_NAME
    assert all(span["text"] and span["start"] < span["end"] <= MAX_WORDS for span in found)
    assert all(span["words"] == span["end"] - span["start"] for span in found)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who built the mill, the old mill?", "built mill old"),
        ("who is it", "who is it"),
        ("NOT Ada OR Bo", "Ada Bo"),
        ("AND", "and"),
        ("Jean-Luc said", '"Jean-Luc" said'),
        ("?!", ""),
    ],
)
def test_words_for_a_fulltext_index(question: str, expected: str) -> None:
    assert lucene_words(question) == expected


@given(st.text(max_size=300))
def test_no_operator_gets_into_a_query_unquoted(question: str) -> None:
    unquoted = "".join(lucene_words(question).split('"')[::2])

    assert OPERATORS.isdisjoint(unquoted)
    assert {"AND", "OR", "NOT"}.isdisjoint(unquoted.split())


def test_phrases_are_quoted() -> None:
    assert lucene_phrases(["Ada Morn", 'the "old" mill\\', "Ada Morn"]) == (
        '"Ada Morn" "the \\"old\\" mill\\\\"'
    )


# --- Relationships of a written query lead where the graph's do.


def type_info(name: str, *ends: tuple[str, str]) -> TypeInfo:
    return TypeInfo(name=name, count=1, properties=(), ends=ends)


SCHEMA = GraphSchema(
    labels=(),
    types=(
        type_info("WORKS_FOR", ("Person", "Company")),
        type_info("KNOWS", ("Person", "Person")),
        type_info("OWNS", ("Person", "Company"), ("Company", "Person")),
    ),
    indexes=(),
    lookups=frozenset(),
)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (
            "MATCH (c:Company)-[:WORKS_FOR]->(p:Person) RETURN p",
            "MATCH (c:Company)<-[:WORKS_FOR]-(p:Person) RETURN p",
        ),
        (
            "MATCH (p:Person)<-[r:WORKS_FOR]-(c:Company {name: $n}) RETURN p",
            "MATCH (p:Person)-[r:WORKS_FOR]->(c:Company {name: $n}) RETURN p",
        ),
        (
            "MATCH (c:Company) MATCH (p:Person {name: $n}), (c)-[:WORKS_FOR {since: 1}]->(p)",
            "MATCH (c:Company) MATCH (p:Person {name: $n}), (c)<-[:WORKS_FOR {since: 1}]-(p)",
        ),
        (
            "MATCH (a:Company)-[:WORKS_FOR]->(b:Person)-[:WORKS_FOR]->(c:Company) RETURN a",
            "MATCH (a:Company)<-[:WORKS_FOR]-(b:Person)-[:WORKS_FOR]->(c:Company) RETURN a",
        ),
    ],
)
def test_a_step_against_the_graph_is_turned(written: str, expected: str) -> None:
    assert with_directions(written, SCHEMA) == expected


@pytest.mark.parametrize(
    "written",
    [
        "MATCH (p:Person)-[:WORKS_FOR]->(c:Company) RETURN c",
        "MATCH (a:Person)-[:KNOWS]->(b:Person) RETURN b",
        "MATCH (c:Company)-[:OWNS]->(p:Person) RETURN p",
        "MATCH (c:Company)-[:WORKS_FOR]-(p:Person) RETURN p",
        "MATCH (a)-[:WORKS_FOR]->(p:Person) RETURN p",
        "MATCH (c:Company)-[:WORKS_FOR|KNOWS]->(p:Person) RETURN p",
        "MATCH (c:Company)-[:SELLS]->(p:Person) RETURN p",
        "RETURN 'a)-[:WORKS_FOR]->('",
    ],
)
def test_what_is_open_or_right_stays(written: str) -> None:
    assert with_directions(written, SCHEMA) == written


# --- Texts within a written query become parameters; nothing else of it changes.


@pytest.mark.parametrize(
    ("query", "expected", "texts"),
    [
        ("MATCH (n {name: 'Ada'}) RETURN n", "MATCH (n {name: $text1}) RETURN n", ["Ada"]),
        ('RETURN "a", \'b\', "a"', "RETURN $text1, $text2, $text1", ["a", "b"]),
        (
            r"RETURN 'it\'s', 'a\\b', 'a\nb'",
            "RETURN $text1, $text2, $text3",
            ["it's", "a\\b", "a\nb"],
        ),
        ('RETURN "it\'s"', "RETURN $text1", ["it's"]),
        ("RETURN ''", "RETURN $text1", [""]),
        ("MATCH (n:`it's`) RETURN n", "MATCH (n:`it's`) RETURN n", []),
        ("RETURN 1 // it's\n, 'a'", "RETURN 1 // it's\n, $text1", ["a"]),
        ("RETURN /* it's */ 'a'", "RETURN /* it's */ $text1", ["a"]),
        ("RETURN 'without an end", "RETURN 'without an end", []),
        ("RETURN /* without 'an' end", "RETURN /* without 'an' end", []),
        (r"RETURN '\u0027 + 1", r"RETURN '\u0027 + 1", []),
        ("RETURN 1, 2.5, true, null", "RETURN 1, 2.5, true, null", []),
    ],
)
def test_texts_become_parameters(query: str, expected: str, texts: list[str]) -> None:
    found, values = with_parameters(query, {})
    assert found == expected
    assert list(values.values()) == texts


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=20), max_size=5))
def test_whatever_is_quoted_comes_back_as_it_was(texts: list[str]) -> None:
    quoted = ["'" + t.replace("\\", "\\\\").replace("'", "\\'") + "'" for t in texts]
    query = "RETURN [" + ", ".join(quoted) + "]"
    found, values = with_parameters(query, {})
    if "\\u" in query or "\\U" in query:
        assert found == query
        return
    assert "'" not in found
    assert [values[name] for name in re.findall(r"\$(\w+)", found)] == texts
