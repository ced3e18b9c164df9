"""Names in Chinese, Japanese and Korean text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from clew.indexing.ner.spans import NameSpan
from clew.word_lists import read_word_lists, word_list

_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff々〇]+")
_KATAKANA = re.compile("[\u30a1-\u30fa][\u30a1-\u30fe]*(?:[・=＝][\u30a1-\u30fa][\u30a1-\u30fe]*)*")
_HIRAGANA = re.compile("[\u3041-\u309f]")
_KANA_AFTER_NAME = frozenset("はがのでにをとへもやさ、")
_HANGUL = re.compile("[\uac00-\ud7a3]+")

_LISTS = read_word_lists("clew.indexing.ner", "words", "cjk.toml")
_SINGLE_BREAKS = "".join(_LISTS["single_breaks"].split())
_BREAKS = re.compile(f"[{_SINGLE_BREAKS}]|{'|'.join(sorted(_LISTS['word_breaks'].split()))}")
_SUFFIX = re.compile(
    "|".join(
        f"(?P<{kind}>[\u3400-\u9fff々]{{1,7}}(?:{'|'.join(sorted(endings.split()))}))$"
        for kind, endings in _LISTS["suffixes"].items()
    )
)
_KNOWN_PLACES = re.compile(
    "[中美英法德韩韓泰]国|日本|印度|俄罗斯|俄国|意大利|西班牙|葡萄牙|荷兰|瑞士|瑞典|加拿大|澳大利亚|埃及|希腊"
    "|越南|朝鲜|台湾|臺灣|香港|澳门|北京|上海|天津|重庆|广州|深圳|南京|东京|東京|京都|大阪|伦敦|巴黎|纽约|柏林"
    "|莫斯科|欧洲|亚洲|非洲|美洲"
)
_DISTRICTS = re.compile("[\u3400-\u9fff]{2,4}?(?:特别行政区|自治区|省|市|县|縣|区|區|州)")
_LOCATIVES = frozenset("在于於到至")
_TRADE = re.compile("(?:者|家|員|的|性|語|監督|選手|俳優|歌手|教授)$")
_HONORIFIC = re.compile("(?:さん|くん|ちゃん|氏|様|先生)")
_SURNAMES = frozenset("".join(_LISTS["surnames"].split()))
_COMMON_HAN = word_list(_LISTS["common_han"])

_JOSA = re.compile(
    "(?:에서는|에게서|으로서|으로써|이라고|이라는|입니다|이었다|에서|에게|한테|으로|까지"
    "|부터|처럼|보다|이며|이자|이다|였다|라고|라는|들은|들이|과|와|은|는|이|가|을|를|의|에|로|도|만|및)$"
)
_HANGUL_SUFFIX = re.compile(
    "(?:(?P<place>특별시|광역시|자치도|공화국|왕국|제국|[가-힣](?:시|군|구|읍|면|도|섬|강|산|역))"
    "|(?P<organisation>대학교|대학|학교|회사|그룹|은행|연구소|박물관|위원회|협회|전자|자동차)"
    "|(?P<person>대왕|대통령|교수|박사|황제|장군|선생|씨))$"
)
_HANGUL_PERSON = re.compile(
    "(?P<name>[\uac00-\ud7a3]{2,4}) (?:씨|님|교수|박사|대통령|선생)"
    "(?=[은는이가을를의에와과도 .,]|$)"
)
COMMON_KOREAN = word_list(_LISTS["common_korean"])
"""Korean words that are no names however often they are said."""


def repeated_han(text: str) -> frozenset[str]:
    """Sequences of two to six Han characters that occur twice, not only within a longer one."""
    counts: Counter[str] = Counter()
    for run in _HAN.findall(text):
        for piece in _BREAKS.split(run):
            for size in range(2, min(6, len(piece)) + 1):
                counts.update(piece[i : i + size] for i in range(len(piece) - size + 1))
    often = {gram: n for gram, n in counts.items() if n > 1 and gram not in _COMMON_HAN}
    inner = {
        part
        for gram, n in often.items()
        if len(gram) > 2
        for part in (gram[1:], gram[:-1])
        if often.get(part) == n
    }
    return frozenset(often.keys() - inner)


def find_east_asian(
    text: str, start: int, end: int, repeated: frozenset[str]
) -> Iterator[NameSpan]:
    """Katakana words, Han names and Korean names."""
    for match in _KATAKANA.finditer(text, start, end):
        if len(match.group()) > 1:
            yield NameSpan(match.start(), match.end(), match.group())
    japanese = _HIRAGANA.search(text, start, end) is not None
    for match in _HAN.finditer(text, start, end):
        yield from (_kanji if japanese else _hanzi)(text, match.start(), match.group(), repeated)
    for match in _HANGUL_PERSON.finditer(text, start, end):
        yield NameSpan(match.start(), match.end("name"), match["name"], "person")
    for match in _HANGUL.finditer(text, start, end):
        yield from _hangul(match.start(), match.group())


def _kanji(text: str, start: int, run: str, repeated: frozenset[str]) -> Iterator[NameSpan]:
    """A run of kanji stands between kana, so that it is a word or a few."""
    end = start + len(run)
    honoured = _HONORIFIC.match(text, end) is not None
    if 2 <= len(run) <= 8 and run not in _COMMON_HAN:
        followed = end >= len(text) or text[end] in _KANA_AFTER_NAME or not text[end].isalnum()
        if honoured or run in repeated or (followed and not _TRADE.search(run)):
            yield NameSpan(start, end, run, "person" if honoured else _kind_by_suffix(run))
    elif len(run) > 8:
        yield from _grams(start, run, repeated)


def _hanzi(text: str, start: int, run: str, repeated: frozenset[str]) -> Iterator[NameSpan]:
    """A run of Chinese is a sentence; function words cut it into pieces."""
    at, located = 0, False
    for cut in [*_BREAKS.finditer(run), None]:
        piece = run[at : cut.start() if cut else len(run)]
        yield from _piece(start + at, piece, repeated, located=located)
        if cut:
            at, located = cut.end(), cut.group() in _LOCATIVES


def _piece(
    start: int, piece: str, repeated: frozenset[str], *, located: bool
) -> Iterator[NameSpan]:
    """`located`: a word such as "in" stands before the piece."""
    if len(piece) < 2 or piece in _COMMON_HAN:
        return
    yield from _grams(start, piece, repeated)
    yield from _places(start, piece)
    kind = _kind_by_suffix(piece)
    if kind != "name" or piece in repeated:
        yield NameSpan(start, start + len(piece), piece, kind)
    elif len(piece) <= 3 and piece[0] in _SURNAMES:
        yield NameSpan(start, start + len(piece), piece, "person")
    elif located and len(piece) <= 4:
        yield NameSpan(start, start + len(piece), piece, "place")


def _places(start: int, piece: str) -> Iterator[NameSpan]:
    """Well-known places at the head of a piece, and the parts of "浙江省绍兴市"."""
    known = _KNOWN_PLACES.match(piece)
    if known:
        yield NameSpan(start, start + known.end(), known.group(), "place")
    parts = list(_DISTRICTS.finditer(piece))
    if len(parts) > 1:
        for part in parts:
            yield NameSpan(
                start + part.start(), start + part.end(), part.group(), "place", nested=True
            )


def _grams(start: int, run: str, repeated: frozenset[str]) -> Iterator[NameSpan]:
    for size in range(min(6, len(run)), 1, -1):
        for i in range(len(run) - size + 1):
            gram = run[i : i + size]
            if gram in repeated:
                yield NameSpan(start + i, start + i + size, gram, _kind_by_suffix(gram))


def _kind_by_suffix(name: str) -> str:
    match = _SUFFIX.match(name)
    return match.lastgroup or "name" if match else "name"


def _hangul(start: int, word: str) -> Iterator[NameSpan]:
    name = without_particle(word)
    if len(name) < 3 or name in COMMON_KOREAN or word in COMMON_KOREAN:
        return
    match = _HANGUL_SUFFIX.search(name)
    if match:
        yield NameSpan(start, start + len(name), name, match.lastgroup or "name")


def without_particle(word: str) -> str:
    """A Korean word without the particle that its place in the sentence gives it."""
    match = _JOSA.search(word)
    return word[: match.start()] if match and match.start() >= 2 else word
