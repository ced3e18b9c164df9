from __future__ import annotations

import pytest

from clew.indexing.ner.other_scripts import has_caseless
from clew.indexing.ner.pattern_extractor import PatternExtractor
from clew.types import Chunk, Document

TEXTS = {
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
    found = PatternExtractor().extract(Document(source="a", text=text), [chunk])
    (result,) = found.chunks
    for mention in result.mentions:
        assert text[mention.start : mention.end] == mention.name
    return {m.name: m.entity_type for m in result.mentions}


@pytest.mark.parametrize("script", TEXTS)
def test_names_of_real_sentences_come_out(script: str) -> None:
    text, expected = TEXTS[script]
    found = mentions(text)
    assert expected.keys() <= found.keys()
    # A type may be known better than asked for, never otherwise.
    wrong = {n: (t, found[n]) for n, t in expected.items() if t not in ("name", found[n])}
    assert wrong == {}


@pytest.mark.parametrize("script", TEXTS)
def test_what_is_found_is_little_of_the_text(script: str) -> None:
    text, expected = TEXTS[script]
    assert len(mentions(text)) <= 3 * len(expected)


def test_pronouns_that_open_a_sentence_are_no_names() -> None:
    assert not {"Он", "Ο", "Το", "Il", "Er"} & {n for t, _ in TEXTS.values() for n in mentions(t)}


def test_longest_repeated_sequence_wins() -> None:
    found = mentions("红楼梦很长。红楼梦很美。红楼梦有名。")
    assert set(found) == {"红楼梦"}


def test_one_korean_name_under_several_particles() -> None:
    assert set(mentions("고구려는 강했다. 고구려의 땅은 넓었다. 고구려에서 왔다.")) == {"고구려"}


def test_latin_names_beside_unspaced_text() -> None:
    assert {"Google", "Apple"} <= mentions("我在Google工作，他在Apple工作。").keys()


def test_chinese_and_korean_dates() -> None:
    assert mentions("它成立于2008年8月8日。")["2008年8月8日"] == "date"
    assert mentions("그것은 2008년 8월 8일에 시작했다.")["2008년 8월 8일"] == "date"


@pytest.mark.parametrize(
    ("text", "expected"), [("plain", False), ("Été à Łódź", False), ("東京", True), ("한글", True)]
)
def test_caseless_scripts_are_recognised(text: str, expected: bool) -> None:
    assert has_caseless(text) is expected
