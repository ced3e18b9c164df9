"""Languages: what is peculiar to each, and which one a text is written in.

A language goes by its ISO 639 code of two letters ("de"); empty means unknown. Words and sentences
of a language that `words.toml` does not list are read as English is.
"""

from __future__ import annotations

from clew.languages.recognise import language_code, recognise
from clew.languages.words import (
    LanguageWords,
    NounSigns,
    language_words,
    listed_languages,
    script_of,
    spoken,
)

__all__ = [
    "LanguageWords",
    "NounSigns",
    "language_code",
    "language_words",
    "listed_languages",
    "recognise",
    "script_of",
    "spoken",
]
