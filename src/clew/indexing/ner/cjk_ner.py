"""Names in Chinese, Japanese and Korean text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from clew.indexing.ner.spans import Span
from clew.indexing.ner.word_lists import word_list

_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff々〇]+")
_KATAKANA = re.compile("[\u30a1-\u30fa][\u30a1-\u30fe]*(?:[・=＝][\u30a1-\u30fa][\u30a1-\u30fe]*)*")
_HIRAGANA = re.compile("[\u3041-\u309f]")
_KANA_AFTER_NAME = frozenset("はがのでにをとへもやさ、")
_HANGUL = re.compile("[\uac00-\ud7a3]+")

# One character, then words of two, that end a name before them and begin none.
_SINGLE_BREAKS = (
    "的了在是于於和与與及为為被从從到由对對把等他她它我你您们們這这那有也都就而或并並"
    "其之不个個很还還又再已曾则則且若但所让讓使向往以因如将將会會能可要该該每各此某着"
    "著过過吗嗎呢吧啊第年月日时時"
)
_WORD_BREAKS = word_list(
    """
    出生 位于 位於 成立 毕业 畢業 创立 創立 创办 担任 擔任 进入 成为 成為 获得 獲得 发表
    發表 开始 使用 属于 称为 称作 著名 主要 重要 目前 现在 后来 後來 当时 曾经 之后 之前
    以及 因为 所以 但是 如果 没有 可以 通过 根据 由于 包括 作为 一种 一名 一位 一座 一家
    一部 许多 最大 最早 最高 首都 开发 開發 发明 發明 导演 執導 撰写 創作 创作 建立 建于
    举行 去世 逝世 结婚 来自 前往 居住 工作 学习 研究 发现 提出 认为 支持 参加 领导 世界
    中央 地区 期间 时期
    """
)
_BREAKS = re.compile(f"[{_SINGLE_BREAKS}]|{'|'.join(sorted(_WORD_BREAKS))}")

_SUFFIXES = {
    "place": word_list(
        """
        特别行政区 自治区 特別市 共和国 王国 帝国 帝國 市 省 県 縣 县 州 国 國 区 區 町 村 岛
        島 山 河 江 川 湖 海 寺 駅 站 街 路 港 城
        """
    ),
    "organisation": word_list(
        """
        大学 大學 学院 學院 高校 中学 公司 会社 會社 集团 集團 銀行 银行 研究所 研究院 博物馆
        博物館 美術館 图书馆 医院 病院 委员会 協会 协会 党 黨 军 軍 社
        """
    ),
    "person": word_list(
        """
        先生 女士 博士 教授 氏 天皇 皇帝 将軍 总统 总理 主席
        """
    ),
}
_SUFFIX = re.compile(
    "|".join(
        f"(?P<{kind}>[\u3400-\u9fff々]{{1,7}}(?:{'|'.join(sorted(endings))}))$"
        for kind, endings in _SUFFIXES.items()
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
_SURNAMES = frozenset(
    "王李张張刘劉陈陳杨楊赵趙黄黃周吴吳徐孙孫胡朱高林何郭马馬罗羅梁宋郑鄭谢謝韩韓唐冯"
    "馮于董萧蕭程曹袁邓鄧许許傅沈曾彭吕呂苏蘇卢盧蒋蔣蔡贾賈丁魏薛叶葉阎余潘杜戴夏锺钟"
    "汪田任姜范方石姚谭廖邹熊金陆陸郝孔白崔康毛邱秦江史顾顧侯邵孟龙龍万段雷钱汤尹黎易"
    "常武乔贺赖龚文鲁魯司欧阳诸葛"
)
_COMMON_HAN = word_list(
    """
    今日 今天 昨日 明日 時代 时代 作品 作家 人物 問題 问题 時間 时间 方法 場合 自分 最初
    最後 最后 現在 一般 全国 世界 学生 学校 先生 大学 会社 公司 人口 面積 面积 歴史 历史
    文化 経済 经济 政治 社会 生活 関係 关系 使用 利用 発表 開始 小説 小说 電影 电影 映画
    音楽 音乐 部分 種類 结果 結果 影響 影响 必要 可能 以上 以下 以外 以来 其中 中国語
    日本語 我国 本国 各国 全市 我们 他们 城市 国家 政府 総合 総称 代表 有名 著名 国立大学
    国立 首都 位置 主人公 主人 生 人 年 月 日 代表作 設立 設置 創業 誕生 死去 出身 活動
    活躍 監督 主演 製作 開発 研究 教授 博士 皇帝 天皇 主席 总统 总理 公里 工程
    """
)

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
COMMON_KOREAN = word_list(
    """
    그는 그녀 그의 이는 또한 그리고 하지만 그러나 있는 있다 하는 한다 했다 되었다 되는
    위해 대한 통해 가장 함께 다른 모든 이후 이전 당시 현재 때문 경우 사람 것이 것은 수도
    중요 많은 그것 우리 나라 세계 시작 사용 지역 다시 매우 도시 역사 하였다 태어났
    태어났다 설립 설립되었다 위치한 위치 회사 대학교 대학 학교 대통령 교수 박사 다시 정도
    반드시 동시 당시 즉시 역시 도구 연구 친구 인구 요구 기구 속도 온도 제도 태도 정도 지도
    의도 시도 재산 생산 부산물 화면 장면 측면 반면
    """
)
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


def find_east_asian(text: str, start: int, end: int, repeated: frozenset[str]) -> Iterator[Span]:
    """Katakana words, Han names and Korean names."""
    for match in _KATAKANA.finditer(text, start, end):
        if len(match.group()) > 1:
            yield Span(match.start(), match.end(), match.group())
    japanese = _HIRAGANA.search(text, start, end) is not None
    for match in _HAN.finditer(text, start, end):
        yield from (_kanji if japanese else _hanzi)(text, match.start(), match.group(), repeated)
    for match in _HANGUL_PERSON.finditer(text, start, end):
        yield Span(match.start(), match.end("name"), match["name"], "person")
    for match in _HANGUL.finditer(text, start, end):
        yield from _hangul(match.start(), match.group())


def _kanji(text: str, start: int, run: str, repeated: frozenset[str]) -> Iterator[Span]:
    """A run of kanji stands between kana, so that it is a word or a few."""
    end = start + len(run)
    honoured = _HONORIFIC.match(text, end) is not None
    if 2 <= len(run) <= 8 and run not in _COMMON_HAN:
        followed = end >= len(text) or text[end] in _KANA_AFTER_NAME or not text[end].isalnum()
        if honoured or run in repeated or (followed and not _TRADE.search(run)):
            yield Span(start, end, run, "person" if honoured else _kind_by_suffix(run))
    elif len(run) > 8:
        yield from _grams(start, run, repeated)


def _hanzi(text: str, start: int, run: str, repeated: frozenset[str]) -> Iterator[Span]:
    """A run of Chinese is a sentence; function words cut it into pieces."""
    at, located = 0, False
    for cut in [*_BREAKS.finditer(run), None]:
        piece = run[at : cut.start() if cut else len(run)]
        yield from _piece(start + at, piece, repeated, located=located)
        if cut:
            at, located = cut.end(), cut.group() in _LOCATIVES


def _piece(start: int, piece: str, repeated: frozenset[str], *, located: bool) -> Iterator[Span]:
    """`located`: a word such as "in" stands before the piece."""
    if len(piece) < 2 or piece in _COMMON_HAN:
        return
    yield from _grams(start, piece, repeated)
    yield from _places(start, piece)
    kind = _kind_by_suffix(piece)
    if kind != "name" or piece in repeated:
        yield Span(start, start + len(piece), piece, kind)
    elif len(piece) <= 3 and piece[0] in _SURNAMES:
        yield Span(start, start + len(piece), piece, "person")
    elif located and len(piece) <= 4:
        yield Span(start, start + len(piece), piece, "place")


def _places(start: int, piece: str) -> Iterator[Span]:
    """Well-known places at the head of a piece, and the parts of "浙江省绍兴市"."""
    known = _KNOWN_PLACES.match(piece)
    if known:
        yield Span(start, start + known.end(), known.group(), "place")
    parts = list(_DISTRICTS.finditer(piece))
    if len(parts) > 1:
        for part in parts:
            yield Span(start + part.start(), start + part.end(), part.group(), "place", nested=True)


def _grams(start: int, run: str, repeated: frozenset[str]) -> Iterator[Span]:
    for size in range(min(6, len(run)), 1, -1):
        for i in range(len(run) - size + 1):
            gram = run[i : i + size]
            if gram in repeated:
                yield Span(start + i, start + i + size, gram, _kind_by_suffix(gram))


def _kind_by_suffix(name: str) -> str:
    match = _SUFFIX.match(name)
    return match.lastgroup or "name" if match else "name"


def _hangul(start: int, word: str) -> Iterator[Span]:
    name = without_particle(word)
    if len(name) < 3 or name in COMMON_KOREAN or word in COMMON_KOREAN:
        return
    match = _HANGUL_SUFFIX.search(name)
    if match:
        yield Span(start, start + len(name), name, match.lastgroup or "name")


def without_particle(word: str) -> str:
    """A Korean word without the particle that its place in the sentence gives it."""
    match = _JOSA.search(word)
    return word[: match.start()] if match and match.start() >= 2 else word
