"""Plain text that was set for a printer: its words whole, its pages without their heads."""

from __future__ import annotations

import re

import pytest

from clew.indexing.reading.formats.pdf import mended

TEXT = """\
     In the morning you gather your gear.

     The next morn-
     ing, you gather what may be your last meal out-
     side, and a well-
     known old-
     style torch that is old-style.
"""


def test_a_cut_word_is_whole_where_it_stands_so_elsewhere() -> None:
    text = mended(TEXT)
    assert "next morning,\n     you gather" in text
    assert "well-\n     known" in text, "nothing tells whether it is a compound"
    assert "old-style\n     torch" in text
    assert "out-\n     side," in text


def test_where_a_program_cut_words_all_are_whole_but_compounds() -> None:
    words = ["experi-ence", "preced-ing", "geno-cide", "fur-ther", "alter-nate", "neces-sary"]
    words += ["opposi-tion", "ex-plosions", "syn-onym", "multi-ple", "old-style"]
    text = "     An old-style text.\n" + "".join(
        f"     Then came {word.replace('-', '-' + chr(10) + '     ')} again.\n" for word in words
    )
    found = mended(text)
    for word in words[:-1]:
        assert f"came {word.replace('-', '')}\nagain." in found
    assert "came old-style\nagain." in found
    wide = mended(text + "     The  keeper of  the light.\n     oil      3  pounds\n")
    assert "The keeper of the light.\noil      3  pounds\n" in wide
    assert found.replace("-", "").split() == mended(found).replace("-", "").split()


def test_a_paragraph_that_ends_with_a_cut_word_still_ends() -> None:
    text = "In the morning.\n\nAnd so each morn-\ning.\n\nThen noon, that morn-\ning\nwas gone."
    assert mended(text).split("\n\n")[1] == "And so each morning."
    assert mended(text).endswith("that morning\nwas gone.")


@pytest.mark.parametrize("text", ["", "a-\nb", "- one\n- two-\n- three", "x = y -\nz", "\f\f\f"])
def test_what_is_not_typeset_stays(text: str) -> None:
    assert mended(text).replace("\f", "") == text.replace("\f", "")


def test_heads_and_feet_of_pages_go_and_sentences_go_on() -> None:
    body = ["The request begins here and", "goes on over the page.", "A third page ends it."]
    pages = [
        f"RFC 9999          Protocol of Bees          June 1999\n\n\n   {line}\n\n\n"
        f"Keeper                 Standards Track                 [Page {number}]\n"
        for number, line in enumerate(body, 1)
    ]
    text = mended("\f".join(pages))
    assert "[Page" not in text
    assert "Protocol of Bees" not in text
    assert re.sub(r"\s+", " ", text) == " ".join(body)
    assert "begins here and\ngoes on" in re.sub(r"\n +", "\n", text)
