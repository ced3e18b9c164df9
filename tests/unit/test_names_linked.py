"""Which names mean one thing: acronyms, companies, initials."""

from __future__ import annotations

from pathlib import Path

import pytest

import clew
from clew.indexing.linking import similarity
from clew.testing.fakes import HashEmbedder
from clew.text import block_of
from clew.types import Document
from tests.unit.test_extract import extract, names


def test_an_acronym_of_two_letters_holds_in_its_document_only() -> None:
    text = "He was made Gracious Umpire Influencing Decisions Officer (GUIDO) then. GUIDO left."
    assert [a.alias for a in extract(text).aliases] == ["GUIDO"]
    assert extract("We use Data Engineering (DE) here. DE is new.").aliases == ()
    assert names("We use Data Engineering (DE) here. DE is new.")[-1] == "Data Engineering"


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("We met John Smith there. Later J. Smith left.", True),
        ("We met John Smith and James Smith there. Later J. Smith left.", False),
        ("We met John Smith there. Later P. Smith left.", False),
    ],
)
def test_initials_stand_for_the_one_person_that_they_fit(text: str, same: bool) -> None:
    assert (names(text)[-1] == "John Smith") == same


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("acme corp", "acme corporation", True),
        ("acme ltd", "acme limited", True),
        ("acme corp", "acme limited", False),
        ("corp", "corporation", False),
    ],
)
def test_the_form_of_a_company_may_be_written_short(one: str, other: str, same: bool) -> None:
    assert (block_of(one) == block_of(other) and similarity(one, other, 0.9) > 0.9) == same


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_name_in_other_letters_is_no_acronym(tmp_path: Path, order: tuple[int, int]) -> None:
    texts = [
        "He was made Gracious Umpire Influencing Decisions Officer (GUIDO) then.",
        "They asked Guido about it.",
    ]
    with clew.open(tmp_path / "store", embedder=HashEmbedder()) as engine:
        for i in order:
            engine.add_documents([Document(source=str(i), text=texts[i])])
        assert engine.entities.get("Guido").name == "Guido"


HEALTH = "The World Harp Orchestra (WHO) met. The WHO has rules."
OPTICS = "They sell Wide Hybrid Optics (WHO) there. The WHO is cheap."
ALONE = "The WHO is far away."


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 0, 1), (2, 1, 0), (0, 2, 1)])
@pytest.mark.parametrize("at_once", [True, False])
def test_an_acronym_of_two_documents_that_differ_holds_in_each_of_them_alone(
    tmp_path: Path, order: tuple[int, ...], at_once: bool
) -> None:
    texts = (HEALTH, OPTICS, ALONE)
    documents = [Document(source=str(i), text=texts[i]) for i in order]
    with clew.open(tmp_path / "store", embedder=HashEmbedder()) as engine:
        for batch in [documents] if at_once else [[one] for one in documents]:
            engine.add_documents(batch)
        assert engine.entities.get("WHO").name == "WHO"
        for name in ("World Harp Orchestra", "Wide Hybrid Optics"):
            assert [alias.name for alias in engine.entities.aliases(name)] == [name]
        again = Document(source="3", text=HEALTH)  # once it is ambiguous, it stays so
        engine.add_documents([again])
        assert engine.entities.get("WHO").name == "WHO"


def test_an_acronym_that_two_documents_agree_on_holds_in_others(tmp_path: Path) -> None:
    texts = (HEALTH, HEALTH.replace("Orchestra", "Orchestras"), ALONE)
    with clew.open(tmp_path / "store", embedder=HashEmbedder()) as engine:
        for i, text in enumerate(texts):
            engine.add_documents([Document(source=str(i), text=text)])
        assert engine.entities.get("WHO").name == "World Harp Orchestra"
