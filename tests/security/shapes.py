"""Texts that are hard on programs that read text, of any length, and ordinary prose."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import count

Shape = Callable[[int], str]
"""A text of so many characters."""

_REPEATED = {
    "spaces": " ",
    "spaces after a letter": "a" + " " * 199,
    "heading of spaces": "# a" + " " * 997,
    "tabs": "\t",
    "newlines": "\n",
    "blank lines": " \n\t\n",
    "carriage returns": "a\r",
    "NULs": "a\x00",
    "controls": "abcdefghi \x1b[0m" + "words " * 20,
    "one letter": "a",
    "capitals": "A",
    "capitals and dots": "A. ",
    "initials": "A.",
    "capitalised words": "Ada ",
    "capitalised words and": "Ada and ",
    "long capitalised words": "Supercalifragilistic" * 5 + " ",
    "shouting": "LOUD WORDS ",
    "small words": "the of and ",
    "adverbs": "slowly ",
    "digits": "7",
    "numbers": "12 ",
    "decimals": "1.",
    "dates": "2024-05-01 ",
    "months": "May ",
    "years and hyphens": "1999-",
    "dots": ".",
    "dots and spaces": ". ",
    "question marks": "?! ",
    "commas": ",",
    "commas and spaces": "a, ",
    "semicolons": ";",
    "colons": "a: ",
    "double quotes": '"',
    "quotes around letters": '"a" ',
    "open quotes": "“a ",
    "apostrophes": "'",
    "apostrophes after letters": "a'",
    "backticks": "`",
    "backticks around letters": "`a",
    "code fences": "```\n",
    "code fences open": "```a\n~~~\n\n",
    "tildes": "~~~\n\n",
    "round brackets": "(",
    "round brackets around letters": "(a) ",
    "square brackets": "[",
    "links begun": "[a](",
    "images begun": "![a][",
    "wiki links": "[[a|b]] ",
    "tags of notes": " #a/b",
    "closing brackets": "])",
    "curly brackets": "{",
    "anchors begun": "# a {#",
    "pipes": "|",
    "tables": "| a | b |\n",
    "table rules": "|---",
    "wide table": "| a ",
    "plus signs": "+",
    "underscores": "_",
    "snake case": "a_",
    "asterisks": "*",
    "emphasis": "*a ",
    "bullets": "* a\n",
    "numbered lists": "1. a\n",
    "numbers in lists": "1.\n",
    "hashes": "#",
    "headings": "# a\n",
    "headings of any level": "# a\n## b\n### c\n#### d\n",
    "setext underlines": "a\n===\n\n",
    "RST underlines": "a\n~~~~\n\nb\n^^^^\n\n",
    "RST quotations": "  quoted line\n",
    "RST comments": ".. a\n",
    "RST fields": ":a: b\n",
    "equals signs": "=",
    "rules": "---\n",
    "TOML fences": "+++\n",
    "front matter": "---\na: 1\n",
    "hyphens": "-",
    "words and hyphens": "a-",
    "dashes": " – ",
    "slashes": "/",
    "back slashes": "\\",
    "URLs": "https://example.org/a?b=c&d=e ",
    "one long URL": "https://example.org/a/",
    "e-mail addresses": "a@b.c,",
    "ampersands": "&",
    "entities": "&amp;",
    "less-than signs": "<",
    "tags unclosed": "<b>",
    "blocks unclosed": "<div>",
    "tags broken": "<a href='",
    "lists unclosed": "<ul><li>a",
    "tables unclosed": "<table><tr><td>a",
    "quotations unclosed": "<blockquote>a",
    "comments begun": "<!--",
    "meta": "<meta charset = ",
    "dotted identifiers": "a.b",
    "camel case": "aB",
    "definitions": "def a(b):\n",
    "decorators": "@a\n",
    "indented code": "    a = b\n",
    "CJK": "中文字",
    "CJK with names": "在北京的王小明和",
    "CJK full stops": "中。",
    "kana": "カタカナひらがな",
    "hangul": "서울특별시",
    "hangul words": "서울은 ",
    "Thai": "ภาษาไทย",
    "Arabic": "والكتاب ",
    "Hebrew": "שלום ",
    "Devanagari": "हिन्दी ",
    "right-to-left marks": "\u202eabc\u202c",
    "emoji": "😀",
    "emoji families": "👨\u200d👩\u200d👧",
    "combining marks": "a" + "\u0301" * 99,
    "only combining marks": "\u0301",
    "zero-width spaces": "\u200b",
    "zero-width joiners": "\u200d",
    "soft hyphens": "a\u00ad\n",
    "no-break spaces": "\u00a0",
    "ligatures": "ﷺ",
    "accents": "É",
    "replacement characters": "\ufffd",
    "lines of one word": "word\n",
    "speakers": "Ada: yes\n",
    "acronyms": "Long Form (LF) ",
    "known as": "Ada Ray, also known as Bo Day, ",
    "is a": "Ada is a (",
    "since": "since in May of ",
    "rows of commas": "a,b,c\n",
    "quoted cells": '"a\n',
    "JSON arrays begun": "[",
    "JSON objects begun": '{"a":',
    "JSON lines": '{"text": "a"}\n',
    "JSON strings": '"\\u0000',
    "base64": "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo",
}


def _repeated(unit: str) -> Shape:
    def shape(characters: int) -> str:
        return (unit * (characters // len(unit) + 1))[:characters]

    return shape


def nested_list(characters: int) -> str:
    """A list in Markdown, each item deeper than the one before."""
    found: list[str] = []
    length = 0
    for depth in count():
        line = f"{'  ' * depth}- a\n"
        length += len(line)
        if length > characters:
            return "".join(found)
        found.append(line)
    raise AssertionError


def deep_json(characters: int) -> str:
    """A list within lists, closed as it should be."""
    return "[" * (characters // 2) + "]" * (characters // 2)


def wide_json(characters: int) -> str:
    """An object of many names."""
    return "{" + ",".join(f'"name {i:06}":{i:06}' for i in range(characters // 22 - 1)) + "}"


def wide_csv(characters: int) -> str:
    """A header of many columns of the same name, and a row."""
    return ("a," * (characters // 4) + "\n" + "b," * (characters // 4))[:characters]


def words_never_seen(characters: int) -> str:
    """Capitalised words that are all different."""
    return " ".join(f"Name{i:07}" for i in range(characters // 12))


def noise(characters: int) -> str:
    """Printable characters at random."""
    return "".join(random.Random(0).choices([chr(c) for c in range(32, 127)], k=characters))


SHAPES: dict[str, Shape] = {
    **{name: _repeated(unit) for name, unit in _REPEATED.items()},
    "nested list": nested_list,
    "deep JSON": deep_json,
    "wide JSON": wide_json,
    "wide CSV": wide_csv,
    "words never seen": words_never_seen,
    "noise": noise,
}

_NAMES = "Ada Ray|Bo Day|Cleo Moss|Dan Fox|Eva Lund|North Bridge|Lake Osa|Vera Institute".split("|")
_VERBS = "met|founded|left|wrote to|was born in|worked for|described|moved to".split("|")
_REST = (
    "after the long winter|because nobody else had the time|in May 1921|on the way to the sea"
    "|and said so in a letter that was lost for years|, which surprised the whole town"
    "|while the harbour was being rebuilt|although the records of that year are thin"
).split("|")


def prose(characters: int) -> str:
    """Paragraphs with names, verbs and dates."""
    chosen = random.Random(0)
    found, length = [], 0
    while length < characters:
        head, tail = chosen.sample(_NAMES, 2)
        sentence = f"{head} {chosen.choice(_VERBS)} {tail} {chosen.choice(_REST)}."
        found.append(sentence + ("\n\n" if chosen.random() < 0.2 else " "))
        length += len(found[-1])
    return "".join(found)[:characters]
