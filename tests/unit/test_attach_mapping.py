from __future__ import annotations

import re
from pathlib import Path

import pytest

from clew.attach.schema import GraphMapping, quoted, read_mapping
from clew.errors import InputError

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
    mapping = read(tmp_path, WHOLE)

    assert mapping.passages.label == "Chunk"
    assert mapping.passages.title is None
    assert mapping.entities is not None
    assert mapping.entities.labels == ("Person", "Place")
    assert mapping.mentions is not None
    assert (mapping.mentions.types, mapping.mentions.direction) == (("MENTIONS",), "in")
    assert mapping.relations.types == ("KNOWS",)


def test_the_mapping_that_the_page_shows_is_one(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "neo4j.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```toml\n(\[passages\].*?)^```$", page, re.MULTILINE | re.DOTALL)

    mapping = read(tmp_path, example)

    assert mapping.passages.label == "Article"
    assert mapping.relations.types == ("APPRENTICE_OF",)


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
    ],
)
def test_what_cannot_be_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in WHOLE

    with pytest.raises(InputError, match=message):
        read(tmp_path, WHOLE.replace(old, new))


def test_relations_lead_between_entities(tmp_path: Path) -> None:
    first, last = WHOLE.split("[entities]")[0], WHOLE[WHOLE.index("[relations]") :]

    with pytest.raises(InputError, match=r"expected \[entities\], since \[relations\]"):
        read(tmp_path, first + last)


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
