"""Which language a text is in, and what follows: stems, stop words, sentence breaks."""

from __future__ import annotations

import time
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest
from Stemmer import algorithms

import clew
from clew.indexing.isolation.worker import with_language
from clew.indexing.reading.reader import document_from_text, read_file
from clew.languages import language_code, language_words
from clew.settings import ReadSettings
from clew.testing.fakes import HashEmbedder
from clew.text import (
    question_language,
    question_terms,
    question_words,
    sentences,
    terms,
    text_language,
)
from clew.types import Document

TEXTS = {
    "en": "The ferry leaves at eight every morning, and it comes back before it is dark.",
    "de": "Die Fähre fährt jeden Morgen um acht Uhr ab und kommt zurück, bevor es dunkel wird.",
    "fr": "Le bateau part chaque matin à huit heures et il revient avant que la nuit tombe.",
    "es": "El barco sale cada mañana a las ocho y vuelve al puerto antes de que sea de noche.",
    "it": "Il traghetto parte ogni mattina alle otto e torna al porto prima che faccia buio.",
    "pt": "O barco sai todas as manhãs às oito horas e volta ao porto antes de escurecer.",
    "nl": "De veerboot vertrekt elke ochtend om acht uur en komt terug voordat het donker wordt.",
    "sv": "Färjan går klockan åtta varje morgon och kommer tillbaka innan det blir mörkt ute.",
    "ru": "Паром отходит каждое утро в восемь часов и возвращается до того, как стемнеет.",
    "pl": "Prom odpływa każdego ranka o ósmej i wraca do portu, zanim zrobi się ciemno.",
    "fi": "Lautta lähtee joka aamu kello kahdeksan ja palaa satamaan ennen kuin tulee pimeä.",
    "ja": "フェリーは毎朝八時に出発し、暗くなる前に港に戻ってきます。島までは一時間かかります。",
    "zh": "渡轮每天早上八点出发，天黑之前返回港口。到岛上大约需要一个小时。",
    "el": "Το πλοίο φεύγει κάθε πρωί στις οκτώ και επιστρέφει στο λιμάνι πριν νυχτώσει.",
}


@pytest.mark.parametrize("language", TEXTS)
def test_a_sentence_tells_its_language(language: str) -> None:
    assert text_language(TEXTS[language]) == language
    assert text_language(TEXTS[language] * 30) == language


def test_a_few_foreign_words_do_not_tell() -> None:
    quoted = f"{TEXTS['zh'] * 3} It is the name of a ferry, and of the port."
    assert text_language(quoted) == "zh"
    assert text_language(f"{TEXTS['de'] * 3} The end of it.") == "de"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Ulm",
        "Die Fähre.",
        "12.5 17.3 18.0 " * 30,
        "0x1f 0x2a 0xff " * 40,
        "\x00\x01\x02\ufffd\u202e" * 100,
        "https://example.org/a/b/c?d=e " * 30,
        "QmVpZmVyQmVpZmVyQmVpZmVyQmVpZmVyQmVpZmVyQmVpZmVyQmVpZmVy " * 20,
    ],
)
def test_what_no_words_tell_is_unknown(text: str) -> None:
    assert text_language(text) == ""


def test_hostile_texts_take_time_in_proportion() -> None:
    for pattern in ("a", "é ", "die le the ", "北", "й", "x.", "<", "\u0301", "A'", "<a "):
        started = time.perf_counter()
        text_language(pattern * (1_000_000 // len(pattern)))
        assert time.perf_counter() - started < 10  # the model is loaded once within it


def test_source_code_has_no_language(tmp_path: Path) -> None:
    file = tmp_path / "ferry.py"
    file.write_text(f'"""{TEXTS["en"] * 5}"""\n\ndef leave():\n    return 8\n', "utf-8")
    (document,) = read_file(file, ReadSettings()).documents
    assert with_language(document).language == ""


def test_what_a_document_says_of_itself_goes_first() -> None:
    page = f"<html lang='pt-BR'><body><p>{TEXTS['es'] * 3}</p></body></html>"
    assert with_language(document_from_text(page, media_type="text/html")).language == "pt"
    note = f"---\nlang: de_AT\n---\n{TEXTS['en']}"
    assert with_language(document_from_text(note, media_type="text/markdown")).language == "de"
    vague = f"---\nlanguage: mixed\n---\n{TEXTS['en']}"
    assert with_language(document_from_text(vague, media_type="text/markdown")).language == "en"
    given = Document(source="a", text=TEXTS["en"], language="fr")
    assert with_language(given).language == "fr"


def test_codes_are_those_of_two_letters() -> None:
    stated = {
        "de-DE": "de",
        "DEU": "de",
        "nb": "no",
        "zh-Hant-TW": "zh",
        "fre": "fr",
        "en_GB": "en",
    }
    assert {text: language_code(text) for text in stated} == stated
    assert [language_code(value) for value in ("", "German", "xyz", None, 5, ["de"])] == [""] * 6


def test_every_list_names_a_stemmer_and_has_words() -> None:
    lists = tomllib.loads(files("clew.languages").joinpath("words.toml").read_text("utf-8"))
    for code in lists:
        known = language_words(code)
        assert known is not None
        assert known.stemmer in algorithms()
        assert all(word == word.casefold() for word in known.stop_words | known.abbreviations), code
        assert not any(word.endswith(".") for word in known.abbreviations), code
    assert language_words("en") is None


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("de", "Haus Häuser Hauses häusern"),
        ("fr", "installer installé installée installés l'installation"),
        ("es", "canción canciones"),
        ("it", "albero alberi dell'albero"),
        ("pt", "cidade cidades"),
        ("nl", "huis huizen"),
        ("sv", "hund hundar hundarna hunden"),
        ("ru", "книга книги книгу книгой"),
    ],
)
def test_forms_of_a_word_have_one_stem(language: str, forms: str) -> None:
    stems = {term for word in forms.split() for term in terms(word, language)}
    assert len(stems) == 1, stems


def test_english_and_unknown_languages_are_read_as_ever() -> None:
    text = "The Mice's cheeses: Größe, l'homme, наука, 東京, parse_file"
    assert terms(text, "en") == terms(text, "xx") == terms(text)
    assert question_terms(text, {"en", "", "ja"}) == question_terms(text)


def test_a_question_is_read_in_its_own_language_where_that_is_told() -> None:
    held = {"de", "fr", "en"}
    assert question_terms("Wie werden die Pakete installiert?", held) == [
        *("paket", "pak"),
        "installiert",
    ]
    assert question_terms("How are the packages installed?", held) == ["packag", "instal"]
    # No function word tells: every reading counts.
    assert set(question_terms("Pakete", held)) == {*terms("Pakete"), *terms("Pakete", "de")}


def test_words_of_other_scripts_within_a_text_are_read_as_such() -> None:
    assert terms("Die Книги in 東京", "de") == [*terms("Книги", "ru"), *terms("東京")]
    assert terms("Пакеты Debian packages", "ru")[1:] == terms("Debian packages")


@pytest.mark.parametrize(
    ("language", "text", "count"),
    [
        ("de", "Das gilt z. B. am 3. Oktober 2020. Danach nicht.", 2),
        ("de", "Siehe Abs. 3 Nr. 2 bzw. Art. Vier. Ende.", 2),
        ("de", "Es war 1990. Dann kam er.", 2),
        ("fr", "Cf. éd. Dupont, p. ex. Celle-ci. Fin.", 2),
        ("es", "El Sr. García y la Dra. Ruiz. Fin.", 2),
        ("it", "Il sig. Rossi, ecc. Abita qui. Fine.", 2),
        ("nl", "Bijv. Jansen e.a. Hij komt.", 1),
        ("sv", "T.ex. Anna bl.a. Karin. Slut.", 2),
        ("en", "It was on page 3. October came. The end.", 3),
    ],
)
def test_abbreviations_of_its_language_end_no_sentence(
    language: str, text: str, count: int
) -> None:
    assert len(sentences(text, language)) == count


def test_stems_of_the_language_are_stored_and_asked(tmp_path: Path) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as store:
        store.add(TEXTS["de"] + " Die Häuser am Hafen gehören einer alten Reederei.", source="de")
        store.add(TEXTS["en"] + " The houses at the port belong to an old company.", source="en")
        store.add("Kurz.", source="tiny")
        languages = {info.source: info.language for info in store.documents.list()}
        assert languages == {"de": "de", "en": "en", "tiny": ""}
        for strategy in ("keyword", "hybrid", "auto"):
            best = store.search("Wem gehört das Haus am Hafen?", strategy=strategy).hits[0]
            assert (best.chunk.source, best.chunk.language) == ("de", "de"), strategy
        found = store.search("port", where=["language=de"], strategy="keyword")
        assert found.hits == ()
        assert store.maintenance.check().problems == ()


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Quel est le salaire de Solange Ferrand ?", "fr"),
        ("Wann hat Frau Lachmann Geburtstag?", "de"),
        ("Who repairs the north fence of the Tilleuls garden?", "en"),
        ("Ostby Vell", "en"),
    ],
)
def test_the_language_of_a_question_is_one_of_the_stores(question: str, language: str) -> None:
    assert question_language(question, {"fr", "de", "xx"}) == language


def test_each_word_of_a_question_has_its_forms_in_the_languages_of_the_store() -> None:
    words = question_words("Wann werden die Pumpen erneuert?", {"de"})
    assert any({"pump", "pumpen"} & word for word in words)
    assert len(words) == 2
    assert question_words("the pumps, the pump", ()) == [frozenset({"pump"})]
