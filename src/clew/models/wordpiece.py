"""Tokenizers: what a model's `tokenizer.json` makes of a text.

The bundled models read BERT's uncased WordPiece, which is here in Python, equal to that of the
package `tokenizers`: words recur, and what becomes of one is remembered. What counts as a mark, and
what is left out, follows the Unicode of `tokenizers`, which is older than Python's. The places of
some differ: of marks in a row whose order Unicode would change, and which are no accents.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from string import punctuation
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from unicodedata import normalize

from clew.errors import ModelError, extra_for
from clew.text import cached, encodable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import tokenizers

    from clew.types import CharRange

_KNOWN = 32
"""Megabytes of words that are remembered."""
_AT_ONCE = 256
"""Texts that `tokenizers` encodes: an encoding is some fifty times as large as its ids."""
_UNCASED = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "lowercase": True,
}
_AS_WRITTEN = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}


class Encoded(NamedTuple):
    """The tokens of a text."""

    ids: list[int]
    offsets: list[CharRange]
    """Characters of the text by token."""


class Tokenizer(Protocol):
    """Threads may share one. Lone surrogates are read as `?`."""

    def encode(self, text: str) -> Encoded:
        """Return the tokens of the whole text, without special ones around it."""
        ...

    def count(self, text: str) -> int:
        """Return how many `encode` would give."""
        ...

    def inputs(self, texts: Sequence[str], most: int) -> list[list[int]]:
        """Return what a model reads of each text: cut, with the special tokens around it."""
        ...

    def token_id(self, token: str) -> int:
        """Return the id of a token by its name; 0 where there is none."""
        ...


@lru_cache(maxsize=4)
def load_tokenizer(path: Path) -> Tokenizer:
    """Return a tokenizer that neither cuts nor pads by itself, whatever its file says.

    Models of the same file share one, as the bundled ones do.

    Raises:
        ModelError: The file is no tokenizer.
        MissingExtraError: It is none that Clew reads itself, and `tokenizers` is not installed.
    """
    try:
        file = json.loads(path.read_text("utf-8"))
        return WordPiece(file) if is_uncased(file) else LibraryTokenizer(path)
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise ModelError(
            f"cannot read the tokenizer {str(path)!r}: {error}. Fetch or install the model again"
        ) from error


def is_uncased(file: Mapping[str, Any]) -> bool:
    """Whether a `tokenizer.json` is one that `WordPiece` reads."""
    model, normal, before, behind = (
        file.get(name) or {} for name in ("model", "normalizer", "pre_tokenizer", "post_processor")
    )
    return (
        (model.get("type"), before.get("type")) == ("WordPiece", "BertPreTokenizer")
        and behind.get("type") == "TemplateProcessing"
        and [*map(list, behind["single"])] == [["SpecialToken"], ["Sequence"], ["SpecialToken"]]
        and normal.items() >= _UNCASED.items()
        and normal.get("strip_accents") is not False
        and all(
            one.items() >= _AS_WRITTEN.items()
            and one["content"][0] in punctuation
            and one["content"].split() == [one["content"]]
            for one in file["added_tokens"]
        )
    )


class WordPiece:
    """Implements `Tokenizer` for a `tokenizer.json` that `is_uncased`."""

    def __init__(self, file: Mapping[str, Any]) -> None:
        model, around = file["model"], file["post_processor"]
        self._ids: dict[str, int] = model["vocab"]
        self._unknown = self._ids[model["unk_token"]]
        self._inside: str = model["continuing_subword_prefix"]
        self._most: int = model["max_input_chars_per_word"]
        self._longest = max(map(len, self._ids))
        self._special = {one["content"]: int(one["id"]) for one in file["added_tokens"]}
        # The longest first, where one begins as another does.
        special = map(re.escape, sorted(self._special, key=len, reverse=True))
        self._parts = re.compile("|".join([*special, _PARTS]))
        self._known = cached(_KNOWN)(self._pieces)
        self._before, self._behind = (
            around["special_tokens"][around["single"][place]["SpecialToken"]["id"]]["ids"]
            for place in (0, -1)
        )

    def encode(self, text: str) -> Encoded:
        """See `Tokenizer`."""
        known = [
            (part.start(), *self._known(part[0])) for part in self._parts.finditer(encodable(text))
        ]
        return Encoded(
            [token for _, ids, _ in known for token in ids],
            [(at + start, at + end) for at, _, places in known for start, end in places],
        )

    def count(self, text: str) -> int:
        """See `Tokenizer`."""
        return sum([len(self._known(part)[0]) for part in self._parts.findall(encodable(text))])

    def inputs(self, texts: Sequence[str], most: int) -> list[list[int]]:
        """See `Tokenizer`."""
        room = most - len(self._before) - len(self._behind)
        return [[*self._before, *self.encode(text).ids[:room], *self._behind] for text in texts]

    def token_id(self, token: str) -> int:
        """See `Tokenizer`."""
        return self._special.get(token) or self._ids.get(token, 0)

    def _pieces(self, part: str) -> tuple[tuple[int, ...], tuple[CharRange, ...]]:
        """The tokens of what `_PARTS` finds, and their characters."""
        if part in self._special:
            return (self._special[part],), ((0, len(part)),)
        kept = [
            (char, place)
            for place, given in enumerate(part)
            for char in _GONE.sub("", normalize("NFD", given)).lower()
        ]
        found = [
            (token, (kept[start][1], kept[end - 1][1] + 1))
            for word in _WORD.finditer("".join(char for char, _ in kept))
            for token, start, end in self._longest_first(word[0], word.start())
        ]
        return tuple(token for token, _ in found), tuple(place for _, place in found)

    def _longest_first(self, word: str, at: int) -> list[tuple[int, int, int]]:
        """Tokens of a word with their places, of which the first is `at`."""
        found: list[tuple[int, int, int]] = []
        start, inside = 0, ""
        while start < len(word):
            ends = range(min(len(word), start + self._longest), start, -1)
            end = next((one for one in ends if inside + word[start:one] in self._ids), 0)
            if not end or len(word) > self._most:
                return [(self._unknown, at, at + len(word))]
            found.append((self._ids[inside + word[start:end]], at + start, at + end))
            start, inside = end, self._inside
        return found


class LibraryTokenizer:
    """Implements `Tokenizer` by the package `tokenizers`, which reads any file.

    Raises `MissingExtraError` where that is not installed, and `ValueError` for a damaged file.
    """

    def __init__(self, path: Path) -> None:
        with extra_for(f"the tokenizer {str(path)!r}"):
            from tokenizers import Tokenizer
        self.own: tokenizers.Tokenizer = Tokenizer.from_buffer(path.read_bytes())
        self.own.no_truncation()
        self.own.no_padding()

    def encode(self, text: str) -> Encoded:
        """See `Tokenizer`."""
        found = self.own.encode(encodable(text), add_special_tokens=False)
        return Encoded(found.ids, found.offsets)

    def count(self, text: str) -> int:
        """See `Tokenizer`."""
        return len(self.own.encode_batch_fast([encodable(text)], add_special_tokens=False)[0])

    def inputs(self, texts: Sequence[str], most: int) -> list[list[int]]:
        """See `Tokenizer`."""
        found: list[list[int]] = []
        for start in range(0, len(texts), _AT_ONCE):
            given = [encodable(text) for text in texts[start : start + _AT_ONCE]]
            for encoding in self.own.encode_batch_fast(given, add_special_tokens=False):
                encoding.truncate(most - self.own.num_special_tokens_to_add(False))
                found.append(self.own.post_process(encoding).ids)
        return found

    def token_id(self, token: str) -> int:
        """See `Tokenizer`."""
        return self.own.token_to_id(token) or 0


_ASCII_MARKS = r"!-/:-@\[-`{-~"
_IDEOGRAPHS = (
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b73f"
    "\U0002b740-\U0002b81f\U0002b920-\U0002ceaf\U0002f800-\U0002fa1f"
)
"""As BERT has them: each is a word of its own."""
_SPACES = "\t\n\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_PARTS = (
    # ASCII words that nothing else touches, each mark and ideograph, then whatever holds together.
    f"[A-Za-z0-9]++(?![^\t\n\r -~])|[{_ASCII_MARKS}]|[{_IDEOGRAPHS}]"
    f"|[^{_ASCII_MARKS}{_IDEOGRAPHS}{_SPACES}]+"
)
"""What tokens are read of by itself: nothing of one depends on another."""
_GONE = re.compile(
    "["
    "\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\xad\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf"
    "\u05c1-\u05c2\u05c4-\u05c5\u05c7\u0600-\u0605\u0610-\u061a\u061c\u064b-\u065f\u0670"
    "\u06d6-\u06dd\u06df-\u06e4\u06e7-\u06e8\u06ea-\u06ed\u070f\u0711\u0730-\u074a\u07a6-\u07b0"
    "\u07eb-\u07f3\u0816-\u0819\u081b-\u0823\u0825-\u0827\u0829-\u082d\u0859-\u085b\u08e3-\u0902"
    "\u093a\u093c\u0941-\u0948\u094d\u0951-\u0957\u0962-\u0963\u0981\u09bc\u09c1-\u09c4\u09cd"
    "\u09e2-\u09e3\u0a01-\u0a02\u0a3c\u0a41-\u0a42\u0a47-\u0a48\u0a4b-\u0a4d\u0a51\u0a70-\u0a71"
    "\u0a75\u0a81-\u0a82\u0abc\u0ac1-\u0ac5\u0ac7-\u0ac8\u0acd\u0ae2-\u0ae3\u0b01\u0b3c\u0b3f"
    "\u0b41-\u0b44\u0b4d\u0b56\u0b62-\u0b63\u0b82\u0bc0\u0bcd\u0c00\u0c3e-\u0c40\u0c46-\u0c48"
    "\u0c4a-\u0c4d\u0c55-\u0c56\u0c62-\u0c63\u0c81\u0cbc\u0cbf\u0cc6\u0ccc-\u0ccd\u0ce2-\u0ce3"
    "\u0d01\u0d41-\u0d44\u0d4d\u0d62-\u0d63\u0dca\u0dd2-\u0dd4\u0dd6\u0e31\u0e34-\u0e3a"
    "\u0e47-\u0e4e\u0eb1\u0eb4-\u0eb9\u0ebb-\u0ebc\u0ec8-\u0ecd\u0f18-\u0f19\u0f35\u0f37\u0f39"
    "\u0f71-\u0f7e\u0f80-\u0f84\u0f86-\u0f87\u0f8d-\u0f97\u0f99-\u0fbc\u0fc6\u102d-\u1030"
    "\u1032-\u1037\u1039-\u103a\u103d-\u103e\u1058-\u1059\u105e-\u1060\u1071-\u1074\u1082"
    "\u1085-\u1086\u108d\u109d\u135d-\u135f\u1712-\u1714\u1732-\u1734\u1752-\u1753\u1772-\u1773"
    "\u17b4-\u17b5\u17b7-\u17bd\u17c6\u17c9-\u17d3\u17dd\u180b-\u180e\u18a9\u1920-\u1922"
    "\u1927-\u1928\u1932\u1939-\u193b\u1a17-\u1a18\u1a1b\u1a56\u1a58-\u1a5e\u1a60\u1a62"
    "\u1a65-\u1a6c\u1a73-\u1a7c\u1a7f\u1ab0-\u1abd\u1b00-\u1b03\u1b34\u1b36-\u1b3a\u1b3c\u1b42"
    "\u1b6b-\u1b73\u1b80-\u1b81\u1ba2-\u1ba5\u1ba8-\u1ba9\u1bab-\u1bad\u1be6\u1be8-\u1be9\u1bed"
    "\u1bef-\u1bf1\u1c2c-\u1c33\u1c36-\u1c37\u1cd0-\u1cd2\u1cd4-\u1ce0\u1ce2-\u1ce8\u1ced\u1cf4"
    "\u1cf8-\u1cf9\u1dc0-\u1df5\u1dfc-\u1dff\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\u20d0-\u20dc\u20e1\u20e5-\u20f0\u2cef-\u2cf1\u2d7f\u2de0-\u2dff\u302a-\u302d\u3099-\u309a"
    "\ua66f\ua674-\ua67d\ua69e-\ua69f\ua6f0-\ua6f1\ua802\ua806\ua80b\ua825-\ua826\ua8c4"
    "\ua8e0-\ua8f1\ua926-\ua92d\ua947-\ua951\ua980-\ua982\ua9b3\ua9b6-\ua9b9\ua9bc\ua9e5"
    "\uaa29-\uaa2e\uaa31-\uaa32\uaa35-\uaa36\uaa43\uaa4c\uaa7c\uaab0\uaab2-\uaab4\uaab7-\uaab8"
    "\uaabe-\uaabf\uaac1\uaaec-\uaaed\uaaf6\uabe5\uabe8\uabed\ue000-\uf8ff\ufb1e\ufe00-\ufe0f"
    "\ufe20-\ufe2f\ufeff\ufff9-\ufffb\ufffd\U000101fd\U000102e0\U00010376-\U0001037a"
    "\U00010a01-\U00010a03\U00010a05-\U00010a06\U00010a0c-\U00010a0f\U00010a38-\U00010a3a"
    "\U00010a3f\U00010ae5-\U00010ae6\U00011001\U00011038-\U00011046\U0001107f-\U00011081"
    "\U000110b3-\U000110b6\U000110b9-\U000110ba\U000110bd\U00011100-\U00011102"
    "\U00011127-\U0001112b\U0001112d-\U00011134\U00011173\U00011180-\U00011181"
    "\U000111b6-\U000111be\U000111ca-\U000111cc\U0001122f-\U00011231\U00011234"
    "\U00011236-\U00011237\U000112df\U000112e3-\U000112ea\U00011300-\U00011301\U0001133c"
    "\U00011340\U00011366-\U0001136c\U00011370-\U00011374\U000114b3-\U000114b8\U000114ba"
    "\U000114bf-\U000114c0\U000114c2-\U000114c3\U000115b2-\U000115b5\U000115bc-\U000115bd"
    "\U000115bf-\U000115c0\U000115dc-\U000115dd\U00011633-\U0001163a\U0001163d"
    "\U0001163f-\U00011640\U000116ab\U000116ad\U000116b0-\U000116b5\U000116b7"
    "\U0001171d-\U0001171f\U00011722-\U00011725\U00011727-\U0001172b\U00016af0-\U00016af4"
    "\U00016b30-\U00016b36\U00016f8f-\U00016f92\U0001bc9d-\U0001bc9e\U0001bca0-\U0001bca3"
    "\U0001d167-\U0001d169\U0001d173-\U0001d182\U0001d185-\U0001d18b\U0001d1aa-\U0001d1ad"
    "\U0001d242-\U0001d244\U0001da00-\U0001da36\U0001da3b-\U0001da6c\U0001da75\U0001da84"
    "\U0001da9b-\U0001da9f\U0001daa1-\U0001daaf\U0001e8d0-\U0001e8d6\U000e0001"
    "\U000e0020-\U000e007f\U000e0100-\U000e01ef\U000f0000-\U000ffffd\U00100000-\U0010fffd"
    "]"
)
"""Control and format characters, those of private use, and accents: BERT leaves them out."""
_ALL_MARKS = (
    "\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e\xa1\xa7\xab\xb6-\xb7\xbb\xbf\u037e\u0387\u055a-\u055f"
    "\u0589-\u058a\u05be\u05c0\u05c3\u05c6\u05f3-\u05f4\u0609-\u060a\u060c-\u060d\u061b"
    "\u061e-\u061f\u066a-\u066d\u06d4\u0700-\u070d\u07f7-\u07f9\u0830-\u083e\u085e\u0964-\u0965"
    "\u0970\u0af0\u0df4\u0e4f\u0e5a-\u0e5b\u0f04-\u0f12\u0f14\u0f3a-\u0f3d\u0f85\u0fd0-\u0fd4"
    "\u0fd9-\u0fda\u104a-\u104f\u10fb\u1360-\u1368\u1400\u166d-\u166e\u169b-\u169c\u16eb-\u16ed"
    "\u1735-\u1736\u17d4-\u17d6\u17d8-\u17da\u1800-\u180a\u1944-\u1945\u1a1e-\u1a1f\u1aa0-\u1aa6"
    "\u1aa8-\u1aad\u1b5a-\u1b60\u1bfc-\u1bff\u1c3b-\u1c3f\u1c7e-\u1c7f\u1cc0-\u1cc7\u1cd3"
    "\u2010-\u2027\u2030-\u2043\u2045-\u2051\u2053-\u205e\u207d-\u207e\u208d-\u208e\u2308-\u230b"
    "\u2329-\u232a\u2768-\u2775\u27c5-\u27c6\u27e6-\u27ef\u2983-\u2998\u29d8-\u29db\u29fc-\u29fd"
    "\u2cf9-\u2cfc\u2cfe-\u2cff\u2d70\u2e00-\u2e2e\u2e30-\u2e42\u3001-\u3003\u3008-\u3011"
    "\u3014-\u301f\u3030\u303d\u30a0\u30fb\ua4fe-\ua4ff\ua60d-\ua60f\ua673\ua67e\ua6f2-\ua6f7"
    "\ua874-\ua877\ua8ce-\ua8cf\ua8f8-\ua8fa\ua8fc\ua92e-\ua92f\ua95f\ua9c1-\ua9cd\ua9de-\ua9df"
    "\uaa5c-\uaa5f\uaade-\uaadf\uaaf0-\uaaf1\uabeb\ufd3e-\ufd3f\ufe10-\ufe19\ufe30-\ufe52"
    "\ufe54-\ufe61\ufe63\ufe68\ufe6a-\ufe6b\uff01-\uff03\uff05-\uff0a\uff0c-\uff0f\uff1a-\uff1b"
    "\uff1f-\uff20\uff3b-\uff3d\uff3f\uff5b\uff5d\uff5f-\uff65\U00010100-\U00010102\U0001039f"
    "\U000103d0\U0001056f\U00010857\U0001091f\U0001093f\U00010a50-\U00010a58\U00010a7f"
    "\U00010af0-\U00010af6\U00010b39-\U00010b3f\U00010b99-\U00010b9c\U00011047-\U0001104d"
    "\U000110bb-\U000110bc\U000110be-\U000110c1\U00011140-\U00011143\U00011174-\U00011175"
    "\U000111c5-\U000111c9\U000111cd\U000111db\U000111dd-\U000111df\U00011238-\U0001123d"
    "\U000112a9\U000114c6\U000115c1-\U000115d7\U00011641-\U00011643\U0001173c-\U0001173e"
    "\U00012470-\U00012474\U00016a6e-\U00016a6f\U00016af5\U00016b37-\U00016b3b\U00016b44"
    "\U0001bc9f\U0001da87-\U0001da8b"
)
"""Each is a word of its own."""
_WORD = re.compile(f"[{_ALL_MARKS}]|[^{_ALL_MARKS}]+")
