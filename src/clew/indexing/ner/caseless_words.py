"""Names in spaced scripts without capitals: Arabic, Hebrew, Devanagari, Georgian, Hangul, ….

A word or pair of words that a document repeats is taken for a name, unless it is a common word; so
is what stands beside a word such as "city", "university" or "doctor".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from clew.indexing.ner.cjk_ner import COMMON_KOREAN, without_particle
from clew.indexing.ner.spans import Span
from clew.indexing.ner.word_lists import word_list

_WORD = re.compile(
    "[\u0590-\u05ff]+(?:[\"״'׳-][\u0590-\u05ff]+)*|[\u0620-\u065f\u066e-\u06d3\u06fa-\u06ff\u0750-\u077f]+"
    "|[\u0900-\u0963\u0970-\u0dff]+|[\u10d0-\u10ff]+|[\u1200-\u137f]+|[\uac00-\ud7a3]+"
)
_ARABIC_PREFIX = re.compile("^(?:وال|بال|فال|كال|لل|ال|و(?=ال))")

# Arabic and Persian, Hebrew, Hindi and its kin, Georgian, Amharic.
_COMMON = word_list(
    """
    في من على إلى الى عن أن إن ان هو هي هذا هذه ذلك تلك التي الذي الذين كان كانت يكون قد
    كما لا ما لم لن ثم أو او أي اي بعد قبل عند عام سنة حيث كل بعض غير بين خلال منذ حتى مع
    هناك وقد وكان وهو وهي وفي ومن وعلى به بها له لها فيه فيها منه منها عليه عليها إذا لكن
    أيضا أيضاً جدا أكثر أول الأول الأولى اليوم مدينة جامعة دولة نهر شركة الرئيس الملك تقع
    يقع ولد ولدت كتاب كتب است که از را این آن با به برای بود شد של את על עם הוא היא זה זו
    אל כי לא גם או אם היה היתה הייתה אשר כל בין לפי אחר אחרי לאחר עד יותר רק כך אך אבל הם
    הן בשנת שנת שנים ביותר מאוד כמו אחד אחת עיר העיר के का की में है हैं और से को पर ने यह
    वह एक था थी थे हो भी इस उस जो तो ही कि या लिए साथ बाद तक कर करने किया गया गई गए होता
    होती अपने अपनी इसके उनके उन्होंने रूप द्वारा तथा एवं नहीं जाता हुआ हुई सबसे वर्ष და
    არის იყო ეს ის რომ მისი როგორც ውስጥ ነው እና ነበር ላይ
    """
)
# "City of", "river", …: the word after it is a name, or part of one.
_LEADS = {
    **dict.fromkeys(
        word_list("مدينة العاصمة دولة نهر جبل محافظة قرية جزيرة بحيرة شهر رود העיר נהר הר מדינת"),
        "place",
    ),
    **dict.fromkeys(
        word_list("جامعة شركة مؤسسة منظمة حزب بنك دانشگاه אוניברסיטת חברת מפלגת"), "organisation"
    ),
    **dict.fromkeys(
        word_list(
            """
            الدكتور الرئيس الملك الأمير الشاعر الكاتب السيد الإمام الشيخ السلطان الخليفة ד"ר
            פרופ' הנשיא המלך הרב डॉ श्री राजा सम्राट राष्ट्रपति प्रधानमंत्री महात्मा
            """
        ),
        "person",
    ),
}
_KEEPS_LEAD = word_list(
    "جامعة شركة مؤسسة منظمة حزب بنك دانشگاه نهر جبل אוניברסיטת חברת מפלגת נהר הר"
)
_TAILS = {
    **dict.fromkeys(word_list("शहर नगर राज्य नदी जिला जिले गाँव में"), "place"),
    **dict.fromkeys(word_list("विश्वविद्यालय कंपनी संस्थान बैंक"), "organisation"),
}
_KEEPS_TAIL = word_list("विश्वविद्यालय नदी संस्थान बैंक")


def repeated_words(text: str) -> frozenset[str]:
    """Stems of words, and of pairs of neighbours, that the text says at least twice."""
    stems: Counter[str] = Counter()
    previous: tuple[int, str] | None = None
    for match in _WORD.finditer(text):
        stem = _stem(match.group())
        if not _may_name(match.group(), stem):
            previous = None
            continue
        stems[stem] += 1
        if previous and text[previous[0] : match.start()] == " ":
            stems[f"{previous[1]} {stem}"] += 1
        previous = (match.end(), stem)
    return frozenset(stem for stem, n in stems.items() if n > 1)


def find_words(text: str, start: int, end: int, repeated: frozenset[str]) -> Iterator[Span]:
    """Repeated words and pairs, and what stands beside a telling word."""
    previous: re.Match[str] | None = None
    for match in _WORD.finditer(text, start, end):
        word = match.group()
        stem = _stem(word)
        if _may_name(word, stem):
            if stem in repeated:
                yield _span(match, stem)
            if previous is not None and text[previous.end() : match.start()] == " ":
                yield from _beside(text, previous, match, repeated)
        elif previous is not None and word in _TAILS:
            yield from _before_tail(text, previous, match)
        previous = match


def _beside(
    text: str, left: re.Match[str], right: re.Match[str], repeated: frozenset[str]
) -> Iterator[Span]:
    first, second = left.group(), right.group()
    lead = _LEADS.get(first)
    if lead:
        start = left.start() if first in _KEEPS_LEAD else right.start()
        yield Span(start, right.end(), text[start : right.end()], lead)
    elif second in _TAILS and _may_name(first, _stem(first)):
        yield from _before_tail(text, left, right)
    if f"{_stem(first)} {_stem(second)}" in repeated:
        yield Span(left.start(), right.end(), text[left.start() : right.end()])


def _before_tail(text: str, left: re.Match[str], tail: re.Match[str]) -> Iterator[Span]:
    if not _may_name(left.group(), _stem(left.group())) or text[left.end() : tail.start()] != " ":
        return
    end = tail.end() if tail.group() in _KEEPS_TAIL else left.end()
    yield Span(left.start(), end, text[left.start() : end], _TAILS[tail.group()])


def _span(match: re.Match[str], stem: str) -> Span:
    """A repeated word; a Korean one without its particle."""
    word = match.group()
    name = stem if word.startswith(stem) else word
    return Span(match.start(), match.start() + len(name), name)


def _stem(word: str) -> str:
    """What forms of one word share: without a Korean particle, an Arabic article or conjunction."""
    if "\uac00" <= word[0] <= "\ud7a3":
        return without_particle(word)
    if "\u0600" <= word[0] <= "\u06ff":
        bare = _ARABIC_PREFIX.sub("", word)
        return bare if len(bare) > 2 else word
    return word


def _may_name(word: str, stem: str) -> bool:
    shortest = 2 if word[0] >= "\u0900" else 3
    return (
        len(stem) >= shortest
        and word not in _COMMON
        and stem not in COMMON_KOREAN
        and word not in COMMON_KOREAN
    )
