"""The shape of names in scripts that have capitals, as one expression."""

from __future__ import annotations

import re

from clew.indexing.ner.name_lexicon import CONNECTORS

# Blocks with two cases: Latin, Greek, Cyrillic, Armenian; Georgian and Glagolitic; Latin and Greek
# extensions; Coptic; Cyrillic and Latin extensions.
_CASED = ((0x41, 0x590), (0x10A0, 0x1100), (0x1E00, 0x2000), (0x2C00, 0x2D30), (0xA640, 0xA7FF))
UPPER = "".join(chr(c) for low, high in _CASED for c in range(low, high) if chr(c).isupper())
# Letters of scripts without spaces, which Python's \w takes for part of a Latin word beside them.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\uff66-\uff9f"
)
W = rf"[^\W_{_UNSPACED}]"
LONGEST_NAME = 16
"""Words of a name, connectors not counted."""
_GAP = r"(?:[ \u00a0]{1,2}|[ ]?\n[ ]{0,8})"
# A full stop belongs to these; by length, since a look behind has one width.
_DOTTED = (
    r"Mr\.|Ms\.|Dr\.|Fr\.|St\.|Sr\.|Jr\.|Mt\.|Ft\.|Lt\.|No\.|Co\.",
    r"Mrs\.|Rev\.|Ste\.|Col\.|Gen\.|Sgt\.|Maj\.|Gov\.|Sen\.|Rep\.|Hon\.|Vol\.|Inc\.|Ltd\.",
    r"Prof\.|Capt\.|Cllr\.|Bros\.|Corp\.",
)
_STOP = rf"\.(?=[ ]?[{UPPER}\d]|,)(?:{'|'.join(f'(?<={words})' for words in _DOTTED)})"
# Every alternative begins with a capital, so that the search skips whatever is none in C.
_WORD = (
    rf"[{UPPER}](?:\.(?:[{UPPER}]\.)+(?!{W})"  # U.S., J.R.R.
    rf"|\.(?=[ ]?(?:\n[ ]{{0,8}})?[{UPPER}])"  # J. Smith
    rf"|{W}*(?:[-‐’'·]{W}+(?:(?<=\d)\.\d{{1,4}}){{0,3}}"  # Apache-2.0
    rf"|(?<=[{UPPER}\d])/[{UPPER}]{{2,}}"  # CI/CD, but no Knoppix/LMDE
    rf"|(?<=\b[{UPPER}]{{3}})/[{UPPER}]{W}+"  # GNU/Linux
    rf"|&[{UPPER}]{W}*)*(?:\+\+|\#(?!{W})|{_STOP})?)"
)
PREFIXES = "al|el|an|ar|as|ash|at|ad|bin|ibn|d|l|de|da"
_FOLLOWER = rf"(?:{_WORD}|[a-z]{{1,2}}[{UPPER}]{W}+|(?:{PREFIXES})[-‐’'][{UPPER}]{W}*(?:[-‐]{W}+)*)"
_CONNECTOR = "|".join(re.escape(word) for word in sorted(CONNECTORS, key=len, reverse=True))
_UNITS = (
    "million|billion|trillion|percent|per|times|to|[kKMGT]?i?[BbVWm]|[MGk]?Hz|inch(?:es)?|feet|ft"
    "|km|kg|am|pm"
)
_NUMBER = rf"(?:\d{{1,3}}|[03-9]\d{{3}})(?!{W}|[.,:/–]\d|-{W}|[%°])"  # a year is no part of a name
_VERSION = (
    rf"v?\d{{1,4}}(?:\.\d{{1,4}}){{1,3}}(?:(?:a|b|rc|dev|alpha|beta)\d{{0,3}})?"
    rf"(?!{W}|[.,:/–-]\d|[%°]|[ ](?:{_UNITS})\b)"
)
VERSION = re.compile(_VERSION)
NAME = re.compile(
    rf"{_WORD}(?:(?:{_GAP}(?:{_CONNECTOR})){{0,3}}(?:{_GAP}|(?<=\.)){_FOLLOWER}|{_GAP}{_NUMBER}"
    rf"|(?:[ ]|\n[ ]{{0,8}}){_VERSION}"
    rf"|,?[ ](?:Jr|Sr)\b\.?){{0,{LONGEST_NAME - 1}}}"
)
