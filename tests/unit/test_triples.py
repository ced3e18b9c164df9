from __future__ import annotations

import json
from pathlib import Path

import pytest

from clew.errors import InputError
from clew.indexing.relations.triples import TripleExtractor, relation_type_of
from clew.ports import Extractor
from clew.types import Chunk, Document

RECORD = {
    "_id": "p7",
    "entities": ["Zorblax", "Kerman", "1990"],
    "triples": [
        ["Zorblax", "was born in", "Kerman"],
        ["Zorblax", "is a", "singer"],
        ["Kerman", "leads to", "Persepolis"],
    ],
}
TEXT = "zorblax is a singer. Zorblax was born in Kerman in 1990, and loved Kerman."


def write(folder: Path, *records: object) -> Path:
    path = folder / "triples.jsonl"
    path.write_text("\n".join(json.dumps(r) for r in records) + "\n\n", encoding="utf-8")
    return path


def document(source: str = "corpus.jsonl#p7", **metadata: str) -> Document:
    return Document(source=source, text=TEXT, title="Zorblax (singer)", metadata=metadata)


def chunk(text: str = TEXT, key: str | None = None, ordinal: int = 0) -> Chunk:
    return Chunk(ordinal=ordinal, section=0, start=0, end=len(text), text=text, key=key)


@pytest.fixture
def extractor(tmp_path: Path) -> TripleExtractor:
    return TripleExtractor(write(tmp_path, RECORD))


def test_it_is_an_extractor(extractor: TripleExtractor) -> None:
    port: Extractor = extractor
    assert port.name == "triples/1:triples.jsonl"


def test_names_are_found_in_every_sentence(extractor: TripleExtractor) -> None:
    (found,) = extractor.extract(document(), [chunk()]).chunks
    places = [(m.sentence, m.name, m.count) for m in found.mentions]
    assert (0, "Zorblax", 1) in places
    assert (1, "Zorblax", 1) in places
    assert (1, "Kerman", 2) in places
    assert (0, "Persepolis", 1) in places  # the text does not have it: the first sentence takes it
    for mention in found.mentions:
        if mention.name != "Persepolis":
            assert TEXT[mention.start : mention.end].lower() == mention.name.lower()
    assert {m.name: m.entity_type for m in found.mentions}["1990"] == "date"


def test_triples_become_relations_of_their_sentence(extractor: TripleExtractor) -> None:
    (found,) = extractor.extract(document(), [chunk()]).chunks
    told = [(r.head, r.relation_type, r.tail, r.sentence, r.is_causal) for r in found.relations]
    assert told == [
        ("Zorblax", "born_in", "Kerman", 1, False),
        ("Zorblax", "is_a", "singer", 0, False),
        ("Kerman", "leads_to", "Persepolis", 0, True),
    ]


def test_record_is_found_by_source_metadata_or_chunk(extractor: TripleExtractor) -> None:
    by_source = extractor.extract(document(), [chunk()]).chunks
    by_metadata = extractor.extract(document("x", _id="p7"), [chunk()]).chunks
    by_chunk = extractor.extract(document("x"), [chunk(key="p7")]).chunks
    assert by_source == by_metadata == by_chunk
    assert by_source[0].mentions


def test_other_documents_yield_their_title_alone(extractor: TripleExtractor) -> None:
    found = extractor.extract(document("corpus.jsonl#p8"), [chunk()])
    assert [n for n, _ in found.about] == ["Zorblax (singer)", "Zorblax"]
    assert not found.chunks[0].mentions
    assert not found.chunks[0].relations
    assert found.chunks[0].sentences


def test_record_of_several_chunks(extractor: TripleExtractor) -> None:
    first, second = "Nothing here.", "Zorblax came from Kerman."
    found = extractor.extract(document(), [chunk(first), chunk(second, ordinal=1)]).chunks
    assert {m.name for m in found[1].mentions} == {"Zorblax", "Kerman"}
    assert {r.relation_type for r in found[1].relations} == {"born_in"}
    assert "Persepolis" in {m.name for m in found[0].mentions}


def test_empty_chunk_takes_nothing(extractor: TripleExtractor) -> None:
    (found,) = extractor.extract(document(), [chunk("")]).chunks
    assert (found.sentences, found.mentions, found.relations) == ((), (), ())
    assert extractor.extract(document(), []).chunks == ()


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("was born on", "born_on"),
        ("is a", "is_a"),
        ("proved the existence of", "proved_the_existence_of"),
        ("co-founded", "co_founded"),
        ("", "relates_to"),
    ],
)
def test_predicates_become_types(predicate: str, expected: str) -> None:
    assert relation_type_of(predicate) == expected


def test_what_is_no_triple_is_left_out_and_counted(tmp_path: Path) -> None:
    odd: list[object] = [
        ["a b", "c"],
        ["Kerman", "is", "in", "Iran"],
        ["x", 3, "y"],
        "xyz",
        1,
        ["", "is", "Iran"],
    ]
    good = ["Kerman", "is in", "Iran"]
    extractor = TripleExtractor(write(tmp_path, {"_id": "p7", "triples": [*odd, good]}))
    (found,) = extractor.extract(document(), [chunk()]).chunks
    assert [r.relation_type for r in found.relations] == ["in"]
    assert extractor.left_out == len(odd)


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[1]",
        '{"entities": []}',
        '{"_id": 3}',
        '{"_id": "a", "entities": [1]}',
        '{"_id": "a", "triples": "xyz"}',
    ],
)
def test_malformed_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "triples.jsonl"
    path.write_text(json.dumps(RECORD) + "\n" + line + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"triples\.jsonl', line 2: .* is no record; expected"):
        TripleExtractor(path)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read triples from .*absent\.jsonl"):
        TripleExtractor(tmp_path / "absent.jsonl")
