"""What a document's structure states reaches the graph beside what its sentences say."""

from __future__ import annotations

from clew.indexing.structure.enter import add_structure
from clew.types import (
    Chunk,
    ChunkExtraction,
    Extraction,
    Mention,
    Statement,
    Structure,
)

TEXT = "Ada met Grace. See Compilers."
CHUNKS = (
    Chunk(ordinal=0, section=0, start=0, end=14, text=TEXT[:14]),
    Chunk(ordinal=1, section=0, start=15, end=29, text=TEXT[15:]),
)
FOUND = Extraction(
    chunks=(
        ChunkExtraction(
            sentences=((0, 14),), mentions=(Mention(name="Ada", sentence=0, start=0, end=3),)
        ),
        ChunkExtraction(),
    )
)


def entered(*statements: Statement) -> Extraction:
    return add_structure(FOUND, Structure(statements=statements), CHUNKS)


def test_a_statement_becomes_a_relation_of_its_sentence() -> None:
    link = Statement(head="Ada", relation_type="links_to", tail="Compilers", start=19, end=28)
    first, second = entered(link).chunks
    assert first == FOUND.chunks[0]
    (relation,) = second.relations
    assert (relation.head, relation.relation_type, relation.tail) == (
        "Ada",
        "links_to",
        "Compilers",
    )
    named = {m.name: CHUNKS[1].text[m.start : m.end] for m in second.mentions}
    # A name that the sentence does not write stands where the statement does.
    assert named == {"Ada": "Compilers", "Compilers": "Compilers"}
    assert second.sentences == ((0, 14),)


def test_a_name_that_was_found_is_not_found_twice() -> None:
    known = Statement(head="Ada", relation_type="met", tail="Grace", start=0, end=14)
    first, _ = entered(known, known).chunks
    assert [mention.name for mention in first.mentions] == ["Ada", "Grace"]
    assert len(first.relations) == 1


def test_a_statement_without_names_or_chunks_states_nothing() -> None:
    nameless = Statement(head="  ", relation_type="met", tail="Grace")
    assert entered(nameless) == FOUND
    empty = Extraction(chunks=())
    assert add_structure(empty, Structure(statements=(nameless,)), ()) == empty
