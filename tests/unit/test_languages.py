"""Languages, scripts and misspelt words."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from itertools import product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from Stemmer import algorithms

import clew
from clew.graph.vocabulary import CHANGES, current_vocabulary, sound
from clew.indexing.inputs import document_from_text
from clew.indexing.ner.pattern_extractor import PatternExtractor
from clew.indexing.processes import with_language
from clew.languages import language_code, language_words, listed_languages
from clew.operations.toolbox import OPERATIONS, Toolbox
from clew.search.pipeline import STRATEGIES
from clew.search.words import MOST_READ, _is_known, _likelihood, read_as_spelt
from clew.text import (
    fold,
    is_english,
    question_language,
    question_terms,
    question_words,
    sentences,
    terms,
    text_language,
)
from clew.types import Chunk, Document, NamedStrategy
from tests.unit.asked import add, engine_of, new_session

# --- Which language a text is in, and what follows: stems, stop words, sentence breaks.


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
    text = TEXTS[language]
    found = {text_language(one) for one in (text, text * 30, f"{text * 3} The end of it.")}
    assert found == {language}


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


@pytest.mark.parametrize(
    ("text", "media_type", "language"),
    [
        (f"<html lang='pt-BR'><body><p>{TEXTS['es'] * 3}</p></body></html>", "text/html", "pt"),
        (f"---\nlang: de_AT\n---\n{TEXTS['en']}", "text/markdown", "de"),
        (f"---\nlanguage: mixed\n---\n{TEXTS['en']}", "text/markdown", "en"),
        (f'"""{TEXTS["en"] * 5}"""\n\ndef leave():\n    return 8\n', "text/x-python", ""),
    ],
)
def test_what_a_document_says_of_itself_goes_first(
    text: str, media_type: str, language: str
) -> None:
    assert with_language(document_from_text(text, media_type=media_type)).language == language


@pytest.mark.parametrize(
    ("stated", "code"),
    [
        ("de-DE", "de"),
        ("DEU", "de"),
        ("nb", "no"),
        ("zh-Hant-TW", "zh"),
        ("fre", "fr"),
        ("en_GB", "en"),
        *((value, "") for value in ("", "German", "xyz", None, 5, ["de"])),
    ],
)
def test_codes_are_those_of_two_letters(stated: object, code: str) -> None:
    assert language_code(stated) == code


def test_every_list_names_a_stemmer_and_has_words() -> None:
    lists = tomllib.loads(files("clew.languages").joinpath("words.toml").read_text("utf-8"))
    known = [language_words(code) for code in lists]
    words = {w for one in known if one for w in one.stop_words | one.abbreviations}
    assert {one and one.stemmer for one in known} <= set(algorithms())
    assert {word for word in words if word != word.casefold()} == set()
    assert not any(word.endswith(".") for one in known if one for word in one.abbreviations)
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


@pytest.mark.parametrize(
    ("question", "held", "read"),
    [
        (
            "Wie werden die Pakete installiert?",
            {"de", "fr", "en"},
            ["paket", "pak", "installiert"],
        ),
        ("How are the packages installed?", {"de", "fr", "en"}, ["packag", "instal"]),
        # No function word tells: every reading counts.
        ("Pakete", {"de", "fr", "en"}, [*terms("Pakete"), *terms("Pakete", "de")]),
        # English and languages without a list are read as ever.
        (
            "The Mice's cheeses: Größe",
            {"en", "", "ja"},
            question_terms("The Mice's cheeses: Größe"),
        ),
    ],
)
def test_a_question_is_read_in_its_own_language_where_that_is_told(
    question: str, held: set[str], read: list[str]
) -> None:
    assert sorted(question_terms(question, held)) == sorted(set(read))


def test_words_of_other_scripts_within_a_text_are_read_as_such() -> None:
    text = "The Mice's cheeses: Größe, l'homme, наука, 東京, parse_file"
    assert terms("Die Книги in 東京", "de") == [*terms("Книги", "ru"), *terms("東京")]
    assert terms("Пакеты Debian packages", "ru")[1:] == terms("Debian packages")
    assert terms(text, "en") == terms(text, "xx") == terms(text)


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


def test_stems_of_the_language_are_stored_and_asked(engine: clew.Clew) -> None:
    engine.add(TEXTS["de"] + " Die Häuser am Hafen gehören einer alten Reederei.", source="de")
    engine.add(TEXTS["en"] + " The houses at the port belong to an old company.", source="en")
    engine.add("Kurz.", source="")
    assert all(info.source == info.language for info in engine.documents.list() if info.language)
    for strategy in ("keyword", "hybrid", "auto"):
        best = engine.search("Wem gehört das Haus am Hafen?", strategy=strategy).hits[0]
        assert (best.chunk.source, best.chunk.language) == ("de", "de"), strategy
    assert not engine.search("port", where=["language=de"], strategy="keyword").hits


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Quel est le salaire de Solange Ferrand ?", "fr"),
        ("Wann hat Frau Lachmann Geburtstag?", "de"),
        ("Who repairs the north fence of the Tilleuls garden?", "en"),
        ("Ostby Vell", "en"),
        *(
            (asked.format(name), language)
            for language, asked in [
                *product(["en"], "is room {} in;who has {};where is {};is {} e paid".split(";")),
                *product(["de"], "Wo ist {};wer hat {};Wann kommt {}".split(";")),
                *product(["fr"], "où est {};Quand arrive {};À qui est {}".split(";")),
                *product(["es"], "¿Dónde está {}?;quién tiene {};¿Cuánto cuesta {}?".split(";")),
            ]
            for name in ["Anna", "E", "A-12", "LN/0417", "Ola Van Berg", "Die Hard"]
        ),
    ],
)
def test_the_language_of_a_question_is_one_of_the_stores(question: str, language: str) -> None:
    """Names and codes that are spelt like function words of other languages tell none."""
    assert question_language(question, {"fr", "de", "es", "xx"}) == language
    assert is_english(question) == (language == "en")


def test_each_word_of_a_question_has_its_forms_in_the_languages_of_the_store() -> None:
    first, second = question_words("Wann werden die Pumpen erneuert?", {"de"})
    assert {"pump", "pumpen"} & (first | second)
    assert question_words("the pumps, the pump", ()) == [frozenset({"pump"})]


# --- scripts


SCRIPTS_TEXTS = {
    "Cyrillic": (
        "Лев Толстой родился в Ясной Поляне. Роман «Война и мир» он написал в 1869 году."
        " Москва — столица России.",
        {"Лев Толстой": "name", "Война и мир": "work", "1869": "date", "Москва": "name"},
    ),
    "Greek": (
        "Ο Νίκος Καζαντζάκης γεννήθηκε στο Ηράκλειο της Κρήτης. Το μυθιστόρημα «Βίος και Πολιτεία"
        " του Αλέξη Ζορμπά» εκδόθηκε το 1946.",
        {
            "Νίκος Καζαντζάκης": "name",
            "Ηράκλειο": "name",
            "Κρήτης": "name",
            "Βίος και Πολιτεία του Αλέξη Ζορμπά": "work",
        },
    ),
    "Chinese": (
        "鲁迅是中国现代文学的奠基人。他出生于浙江省绍兴市，曾在东京学习医学。"
        "鲁迅的代表作有《狂人日记》。北京大学成立于1898年。他在Google公司工作。",
        {
            "鲁迅": "name",
            "绍兴市": "place",
            "东京": "place",
            "狂人日记": "work",
            "北京大学": "organisation",
            "1898": "date",
            "Google": "name",
        },
    ),
    "Japanese": (
        "夏目漱石は日本の小説家である。東京大学を卒業し、『吾輩は猫である』を1905年に発表した。"
        "スティーブン・スピルバーグは映画監督です。田中さんは京都市に住んでいる。",
        {
            "夏目漱石": "name",
            "東京大学": "organisation",
            "吾輩は猫である": "work",
            "スティーブン・スピルバーグ": "name",
            "田中": "person",
            "京都市": "place",
        },
    ),
    "Korean": (
        "세종대왕은 조선의 제4대 국왕이다. 서울대학교는 관악구에 있다. 조선은 1392년에 건국되었다."
        " 김민수 씨는 삼성전자에서 일한다.",
        {
            "세종대왕": "person",
            "조선": "name",
            "서울대학교": "organisation",
            "관악구": "place",
            "김민수": "person",
            "삼성전자": "organisation",
        },
    ),
    "Arabic": (
        "ولد نجيب محفوظ في مدينة القاهرة. حصل نجيب محفوظ على جائزة نوبل عام 1988."
        " درس في جامعة القاهرة وكتب رواية «أولاد حارتنا».",
        {
            "نجيب محفوظ": "name",
            "القاهرة": "place",
            "جامعة القاهرة": "organisation",
            "أولاد حارتنا": "work",
        },
    ),
    "Hebrew": (
        "דוד בן-גוריון היה ראש הממשלה הראשון של ישראל. בן-גוריון נולד בעיר פלונסק. ישראל הוקמה.",
        {"בן-גוריון": "name", "ישראל": "name"},
    ),
    "Devanagari": (
        "महात्मा गांधी का जन्म पोरबंदर में हुआ था। गांधी ने दिल्ली विश्वविद्यालय में भाषण दिया।",
        {"गांधी": "person", "पोरबंदर": "place", "दिल्ली विश्वविद्यालय": "organisation"},
    ),
    "German": (
        "Johann Wolfgang von Goethe wurde 1749 in Frankfurt am Main geboren. Er schrieb „Die Leiden"
        " des jungen Werthers“.",
        {
            "Johann Wolfgang von Goethe": "name",
            "Frankfurt am Main": "name",
            "Die Leiden des jungen Werthers": "work",
        },
    ),
    "French": (
        "L'écrivain Victor Hugo est né à Besançon. Il a écrit « Les Misérables » en 1862.",
        {"Victor Hugo": "person", "Besançon": "name", "Les Misérables": "work"},
    ),
}


def mentions(text: str) -> dict[str, str]:
    chunk = Chunk(ordinal=0, section=0, start=0, end=len(text), text=text)
    (result,) = PatternExtractor().read(Document(source="a", text=text), [chunk]).chunks
    assert [text[m.start : m.end] for m in result.mentions] == [m.name for m in result.mentions]
    return {m.name: m.entity_type for m in result.mentions}


@pytest.mark.parametrize("script", SCRIPTS_TEXTS)
def test_names_of_real_sentences_come_out_and_little_else(script: str) -> None:
    text, expected = SCRIPTS_TEXTS[script]
    found = mentions(text)
    # A type may be known better than asked for, never otherwise.
    assert expected == {n: t if t == "name" else found.get(n) for n, t in expected.items()}
    assert set(expected) <= set(found)
    assert len(found) <= 3 * len(expected)
    assert not {"Он", "Ο", "Το", "Il", "Er"} & found.keys(), "pronouns open sentences"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("红楼梦很长。红楼梦很美。红楼梦有名。", {"红楼梦"}),
        ("고구려는 강했다. 고구려의 땅은 넓었다. 고구려에서 왔다.", {"고구려"}),
        ("我在Google工作，他在Apple工作。", {"Google", "Apple"}),
        ("它成立于2008年8月8日。", {"2008年8月8日", "2008"}),
        ("그것은 2008년 8월 8일에 시작했다.", {"2008년 8월 8일", "2008"}),
    ],
)
def test_names_of_scripts_without_spaces_or_capitals(text: str, names: set[str]) -> None:
    assert set(mentions(text)) == names


# --- Real sentences in six scripts are indexed and found, by their entities and by their
# words.


ASKED_TEXTS = {
    "latin": "Élodie Gagné wrote the letters of Montréal. They were printed in 1931.",
    "cyrillic": "Лев Толстой родился в Ясной Поляне. Роман «Война и мир» написал Лев Толстой.",
    "greek": "Ο Νίκος Καζαντζάκης γεννήθηκε στο Ηράκλειο. Έγραψε τον «Αλέξη Ζορμπά».",
    "chinese": "《红楼梦》的作者是曹雪芹。曹雪芹出生于南京。",
    "japanese": "夏目漱石は「坊っちゃん」を書いた。夏目漱石は東京で生まれた。",
    "arabic": "ولد نجيب محفوظ في القاهرة. كتب نجيب محفوظ رواية «بين القصرين».",
}
QUESTIONS = {
    "latin": ("Where did Elodie Gagne write?", "Élodie Gagné"),
    "cyrillic": ("Где родился Лев Толстой?", "Лев Толстой"),
    "greek": ("Πού γεννήθηκε ο Νίκος Καζαντζάκης;", "Νίκος Καζαντζάκης"),
    "chinese": ("曹雪芹出生在哪里？", "曹雪芹"),
    "japanese": ("夏目漱石はどこで生まれましたか。", "夏目漱石"),
    "arabic": ("أين ولد نجيب محفوظ؟", "نجيب محفوظ"),
}


scripts_engine = engine_of(ASKED_TEXTS)


@pytest.mark.parametrize("script", ASKED_TEXTS)
def test_the_passage_is_found_and_the_entity_is_known(
    scripts_engine: clew.Clew, script: str
) -> None:
    question, name = QUESTIONS[script]
    for strategy in ("keyword", "hybrid", "graph"):
        assert scripts_engine.search(question, strategy=strategy).hits[0].chunk.source == script
    assert scripts_engine.entities.get(name).mentions >= 1
    assert name in scripts_engine.search(question).entities
    assert scripts_engine.maintenance.check().problems == ()


# --- Words that the store does not have are read as the nearest that it has, and the notes
# say so.


SPELLING_TEXTS = {
    "Telegraph": "Oda Marlind invented the telegraph of Tarnholm. It clicked for forty years.",
    "Weaving": "Ivo Swisher wove at Tarnholm. The loom was a gift of the Enthought guild.",
    "Safety": "Sicher ist der Steg. Der Steg ist sicher, sicher, sicher.",
    "Code": "class ReadTimeout: raised where the peer sends nothing. See read_timeout.",
    "Chemistry": "A phosphate is a salt.",
}


spelling_engine = engine_of(SPELLING_TEXTS)


def corrected(engine: clew.Clew, question: str) -> str:
    """The question as it is read; what is read otherwise is told."""
    session = new_session(engine, question)
    read = read_as_spelt(session)
    assert all(note.startswith("read '") for note in read.notes)
    assert bool(read.notes) == (read.question != question) == (read is not session)
    return read.question


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("who inventd the telegaf", "who invented the telegraph"),
        ("Who is Oda Marlidn?", "Who is Oda Marlind?"),
        ("TARNHOML", "TARNHOLM"),
        ("ReadTimout exception", "Readtimeout exception"),
        ("what is a fosphate", "what is a phosphate"),
        # Of two words as near, the one that stands beside the question's others.
        ("Ivo Swicher of Tarnholm", "Ivo Swisher of Tarnholm"),
        ("der Steg, swicher", "der Steg, sicher"),
        *(
            (question, question)
            for question in (
                "Who invented the telegraph?",  # all is there
                "Who invents telegraphs?",  # in another form
                "Who invented the tele?",  # too short to be sure
                "Who mended the bloom?",  # English, though near "loom"
                "the exact words “inventd the telegaf”",  # quoted
                "inventd.txt and src/telegaf and a_telegaf and telegaf()",  # files, paths, code
                "mail to telegaf@example.org",
                "telegaf5 of 2telegaf",
                "Albrecht Zweinstein",  # near nothing
                "",
                "テレグラフ 時計台",
                # a long text is pasted
                " ".join(["telegaf", *map("".join, product("bdfgk", "aeiou", "lmnr", ["tone"]))]),
                # endless words are none
                "telegaf" * 1500,
                "x" * 10_000,
                "“" * 10_000,
            )
        ),
    ],
)
def test_a_slip_is_read_as_what_is_meant_and_nothing_else_is(
    spelling_engine: clew.Clew, question: str, meant: str
) -> None:
    assert corrected(spelling_engine, question) == meant


def test_every_strategy_understands_and_says_so(spelling_engine: clew.Clew) -> None:
    for strategy in ("auto", *STRATEGIES):
        found = spelling_engine.search(
            "Who inventd the telegaf of Tarnholm?", strategy=NamedStrategy(strategy)
        )
        assert found.query == "Who inventd the telegaf of Tarnholm?"
        assert "read 'telegaf' as 'telegraph'" in found.notes, strategy
        if strategy not in ("global", "topic", "vector", "parent_child", "hierarchical"):
            assert found.hits[0].chunk.title == "Telegraph", strategy


def test_a_name_that_no_text_has_is_no_slip(engine: clew.Clew) -> None:
    ship = {"name": "Marlynd", "entityType": "ship", "observations": []}
    add(engine, SPELLING_TEXTS)
    assert corrected(engine, "Where is the Marlynd?") == "Where is the Marlind?"
    memory = Toolbox(engine, OPERATIONS, profile="memory")
    assert not memory.call("create_entities", {"entities": [ship]}).is_error
    assert corrected(engine, "Where is the Marlynd?") == "Where is the Marlynd?"


def test_words_come_and_go_with_the_texts(engine: clew.Clew) -> None:
    note = "read 'quagstone' as 'quaggstone'"
    engine.add("The first loom.", source="kept")
    engine.add("The quaggstone of Vell.", source="changing")
    known = current_vocabulary(engine.store, engine.store.folder)
    assert note in engine.search("quagstone").notes
    for word in ("brinkwood", "marrowfell", "oakendale"):
        engine.add(f"The {word} of Vell.", source="changing")
        known = current_vocabulary(engine.store, engine.store.folder, known)
    assert note not in engine.search("quagstone").notes
    assert "quaggstone" not in known.all_words
    assert {"loom", "first", "oakendale"} <= known.all_words


def test_words_are_kept_beside_the_store_and_only_new_texts_are_read(engine: clew.Clew) -> None:
    engine.add("The quaggstone of Vell.", source="a")
    [file] = engine.store.folder.rglob("words-*.arrays")
    engine.add("A second text: brinkwood.", source="b")
    assert list(engine.store.folder.rglob("words-*.arrays")) == [file], "few changes cost no file"
    kept = current_vocabulary(engine.store, engine.store.folder)
    assert {"quaggstone", "brinkwood"} <= kept.all_words
    for number in range(CHANGES):
        engine.add(f"Text {number}.", source=str(number))
    [later] = engine.store.folder.rglob("words-*.arrays")
    assert later != file
    later.write_bytes(b"damaged")
    again = current_vocabulary(engine.store, engine.store.folder)
    assert again.all_words == current_vocabulary(engine.store, engine.store.folder).all_words


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=200) | st.text("abcdefgt ", max_size=200))
def test_any_question_is_read(spelling_engine: clew.Clew, question: str) -> None:
    corrected(spelling_engine, question)


def test_a_few_words_of_a_question_are_read(spelling_engine: clew.Clew) -> None:
    once = [f"inv{letter}ented" for letter in "abcdfghjklmnop"]
    assert corrected(spelling_engine, " ".join([*once, *once])).count("invented") == 2 * MOST_READ


# --- what is known elsewhere -------------------------------------------------------------

ENGLISH = {
    "Oven": "The oven stays warm for a day. A quiet fan cools it. The cover was never washed.",
    "Tool": "The Quintet is a pump of the firm Marrow. The Quintet costs 900 kroner.",
    "Roof": "Ada Holm repaired the roof of the granary in the spring. The warden was glad.",
    "Coming": "Comedy nights are on Friday. The pound is strong. The dock at Wanne is old.",
}
ASKED_WITH = {
    "de": ["Warum", "Wann wurde", "Welche Leute haben", "Wieviel kostet", "Woher kommt"],
    "fr": ["Pourquoi", "Combien coûte", "Quelle est", "Quand est-ce que", "Comment répare-t-on"],
    "es": ["Quién", "Cuándo fue", "Por qué está", "Cuánto cuesta", "Dónde está", "Cómo se llama"],
    "it": ["Perché", "Quando è stato", "Quanto costa", "Dove si trova", "Chi ha riparato"],
    "nl": ["Waarom", "Wanneer werd", "Hoeveel kost", "Wie heeft", "Welke is"],
    "sv": ["Varför", "När blev", "Vem har", "Vilken är", "Hur mycket kostar"],
}
NOUNS = {
    "de": ["der Ofen", "die Kovers", "das Dach", "Wärme", "der Quintett"],
    "fr": ["le couvert", "la pompe", "le toit du grenier", "la comédie", "un quintette"],
    "es": ["la bomba", "el tejado", "quieto el horno", "la comedia", "el quinteto"],
    "it": ["la pompa", "il tetto", "la commedia", "il quintetto", "la coperta"],
    "nl": ["de pomp", "het dak", "warmte", "de komedie", "het kwintet"],
    "sv": ["pumpen och taket", "den varma ugnen", "komedin som", "kvintetten på"],
}


english = engine_of(ENGLISH)
mixed = engine_of(
    {
        "Passports": "The passports lie in the blue drawer. A passport costs 80 kroner.",
        "Letters": "The adress of the gymnast is a secret. A chef cooks for brigades. Fabrics.",
        **{code: TEXTS[code] for code in ("de", "fr", "es", "it", "sv", "pt")},
    }
)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(ASKED_WITH)).flatmap(
        lambda code: st.sampled_from(
            [
                f"{asked} {{}}?"
                for asked in ASKED_WITH[code]
                if question_language(asked, listed_languages()) == code
            ]
        )
    ),
    st.sampled_from(["Passwort", "passport", "passeport", "pasaporto", "Fabrik", "Brigadier"]),
)
def test_an_ordinary_word_of_another_language_is_not_what_is_meant(
    mixed: clew.Clew, asked: str, word: str
) -> None:
    assert corrected(mixed, asked.format(word)) == asked.format(word)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(ASKED_WITH)).flatmap(
        lambda code: st.builds(
            "{} {}?".format, st.sampled_from(ASKED_WITH[code]), st.sampled_from(NOUNS[code])
        )
    ),
    st.booleans(),
)
def test_in_another_language_no_function_word_is_read_otherwise_and_no_worse_is_found(
    english: clew.Clew, question: str, capitals: bool
) -> None:
    session = new_session(english, question.upper() if capitals else question)
    read = corrected(english, session.question)
    words = zip(*(re.findall(r"\w+", text) for text in (session.question, read)), strict=True)
    assert not [was for was, now in words if was != now and _is_known(fold(was))]
    better, before = (_likelihood(session, text) for text in (read, session.question))
    assert better > before or read == session.question


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        # A function word of any language is no slip, nor a name that is told of elsewhere.
        *((word, word) for word in ("Warum?", "Quién", "¿Quien?", "WARUM", "Pourquoi", "wann")),
        *((text, text) for text in ("When did Quinten repair it?", "Was Quintek glad in spring?")),
        # A slip beside words that are told with it is one.
        ("What does the Quintat cost?", "What does the Quintet cost?"),
        ("Who repaired the roof of the granery?", "Who repaired the roof of the granary?"),
    ],
)
def test_what_is_known_elsewhere_is_no_slip(english: clew.Clew, question: str, meant: str) -> None:
    assert corrected(english, question) == meant


MISSPELT = ["granary", "repaired", "quintet", "washed", "comedy", "kroner"]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(MISSPELT), st.integers(1, 6), st.sampled_from(["swap", "drop", "double"]))
def test_generated_slips_are_still_found(
    english: clew.Clew, word: str, place: int, slip: str
) -> None:
    at = min(place, len(word) - 2)
    pair = {"swap": word[at + 1] + word[at], "drop": word[at + 1], "double": word[at] * 2}
    misspelt = word[:at] + pair[slip] + word[at + (1 if slip == "double" else 2) :]
    held = {w.strip(".").lower() for text in ENGLISH.values() for w in text.split()}
    assume(len(misspelt) >= 5 and misspelt not in held and not _is_known(misspelt))
    read = corrected(english, f"Tell me of the {misspelt}")
    assert word in read or sound(word)[:1] != sound(misspelt)[:1]
