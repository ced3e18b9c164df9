"""What of a message's text is the sender's own, what is quoted, and what is a signature."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from clew.indexing.reading.formats.mail.fields import people, text_field

Kind = Literal["own", "reply", "forward", "signature"]
"""`reply`: quoted from the message that is answered; `forward`: from one that is passed on."""


class Passage(NamedTuple):
    """Lines of a message that belong together."""

    kind: Kind
    text: str
    author: str = ""
    """Whose words are quoted, where that is said."""


_WROTE = (
    *("wrote", "writes", "said", "schrieb", "schreibt", "a écrit", "écrit", "escribió"),
    *("ha scritto", "scrisse", "skrev", "schreef", "escreveu", "napisał", "napsal", "kirjoitti"),
    *("пишет", "написал", "写道", "のメール"),
)
_MESSAGE = (
    *("message", "nachricht", "mensaje", "mensagem", "messaggio", "bericht", "meddelande"),
    *("сообщение", "e-mail"),
)
_FORWARD = ("forward", "weitergeleitet", "transféré", "reenviado", "inoltrat", "doorgestuurd")
_FROM = ("from:", "von:", "de:", "da:", "van:", "från:", "от:")
_SENT = ("sent:", "date:", "gesendet:", "datum:", "envoyé", "enviado", "inviato:", "verzonden:")
_SUBJECT = ("subject:", "betreff:", "objet", "asunto:", "assunto:", "oggetto:", "onderwerp:")
_FORWARDED = ("begin forwarded message:", "start of forwarded message:")
_OPENINGS = ("On ", "Am ", "Le ", "El ", "Il ", "Em ", "Op ", "Den ")
"""First words of "On 2 January, Ada wrote:" in languages that put the date first."""
_LEADS = ("----", *_FORWARDED, *_FROM, *(opening.casefold() for opening in _OPENINGS))
_RULE = re.compile(r"-{4,}+[^-].{2,80}?-{4,}+$")
_FOOTER = re.compile(r"_{40,}+$")
_DATES = re.compile(r",|\d++(?:[:./-]\d++)*+(?: ?[AaPp]\.?[Mm]\b)?+")
_LONGEST_NAME = 5
"""Words."""
_SENT_FROM = (
    *("sent from my ", "get outlook for ", "von meinem ", "envoyé de mon ", "enviado desde mi "),
)
_SIGNATURE_LINES = 12
_HEADER_LINES = 6
_ATTRIBUTION_LINES = 3
_LONGEST_LINE = 300


def passages(text: str) -> list[Passage]:
    """A text as passages in order; joined by line breaks they are the text."""
    lines = text.split("\n")
    kinds: list[tuple[Kind, str]] = [("own", "")] * len(lines)
    at = 0
    while at < len(lines):
        at = _mark(lines, kinds, at)
    found: list[Passage] = []
    start = 0
    for end in range(1, len(lines) + 1):
        if end == len(lines) or kinds[end] != kinds[start]:
            kind, author = kinds[start]
            found.append(Passage(kind, "\n".join(lines[start:end]), author))
            start = end
    return found


def _mark(lines: Sequence[str], kinds: list[tuple[Kind, str]], at: int) -> int:
    """Say what the line at `at` is, and those that belong to it; the first line after them."""
    line = lines[at].strip()[:_LONGEST_LINE]
    if line.startswith(">"):
        return _mark_quote(lines, kinds, at)
    if (kind := _separator(lines, at, line)) is not None:
        author = _author_below(lines, at)
        end = next((i for i in range(at + 1, len(lines)) if _is_separator(lines, i)), len(lines))
        kinds[at:end] = [(kind, author)] * (end - at)
        return end
    if line == "--" or _FOOTER.match(line) or line.casefold().startswith(_SENT_FROM):
        end = _signature_end(lines, at)
        kinds[at:end] = [("signature", "")] * (end - at)
        return max(end, at + 1)
    return at + 1


def _mark_quote(lines: Sequence[str], kinds: list[tuple[Kind, str]], at: int) -> int:
    """Lines with `>` before them, and the line above that says whose they are."""
    end = at
    while end < len(lines) and lines[end].lstrip().startswith(">"):
        end += 1
    start, author = _attribution(lines, kinds, at)
    if not author:
        inner = [line.lstrip().removeprefix(">").lstrip() for line in lines[at:end]]
        # Unless what is named there is quoted in turn.
        author = "" if any(line.startswith(">") for line in inner) else _author_below(inner, 0)
    kinds[start:end] = [("reply", author)] * (end - start)
    return end


def _attribution(
    lines: Sequence[str], kinds: Sequence[tuple[Kind, str]], at: int
) -> tuple[int, str]:
    """Where "On 2 January, Ada wrote:" starts above a quotation, and who wrote."""
    last = at - 1
    while last >= max(at - 2, 0) and not lines[last].strip():
        last -= 1
    if last < 0 or not _is_attribution(lines[last]) or kinds[last][0] != "own":
        return at, ""
    above = range(last, max(last - _ATTRIBUTION_LINES, -1), -1)
    first = next((i for i in above if _opens(lines[i]) and kinds[i][0] == "own"), last)
    if first == last > 0 and lines[last - 1].rstrip().endswith((",", "<")):
        first = last - 1  # the line goes on
    return first, _author(" ".join(lines[first : last + 1]))


def _opens(line: str) -> bool:
    return line.lstrip().startswith(_OPENINGS)


def _is_attribution(line: str) -> bool:
    short = line.strip()[-_LONGEST_LINE:].casefold()
    return short.endswith((":", "：")) and any(word in short for word in _WROTE)


def _author(attribution: str) -> str:
    """The name in "On Thu, 2 Jan 2020 at 10:00, Ada Ray <ada@x.org> wrote:"; else its address."""
    text = attribution[-_LONGEST_LINE:].rstrip(" :：")
    verb = next((w for w in _WROTE if text.casefold().endswith(w)), "")
    text = text[: len(text) - len(verb)].strip().rstrip(",")
    before, _, address = text.partition("<")
    name = text_field(_DATES.split(before)[-1]).strip("\"' ")
    verb = next((f"{w} " for w in _WROTE if name.casefold().startswith(f"{w} ")), "")
    name = name[len(verb) :]
    if len(name.split()) > _LONGEST_NAME:
        name = ""
    return name.strip("<> ") or address.strip("<> ").casefold()


def _separator(lines: Sequence[str], at: int, line: str) -> Kind | None:
    """Whether all that follows is another message, and why it is there."""
    low = line.casefold()
    if not low.startswith(_LEADS):
        return None
    if _RULE.match(low) and any(word in low for word in _MESSAGE):
        return "forward" if any(word in low for word in _FORWARD) else "reply"
    if low in _FORWARDED:
        return "forward"
    if low.startswith(_FROM):
        below = [one.strip().casefold() for one in lines[at + 1 : at + _HEADER_LINES]]
        named = (any(one.startswith(names) for one in below) for names in (_SENT, _SUBJECT))
        return "reply" if all(named) else None
    if _opens(line) and _is_attribution(line) and any(letter.isdigit() for letter in line):
        below = [one for one in lines[at + 1 : at + 3] if one.strip()]
        return "reply" if below and not below[0].lstrip().startswith(">") else None
    return None


def _is_separator(lines: Sequence[str], at: int) -> bool:
    """Whether another message begins here; the field that follows a rule belongs to the rule."""
    line = lines[at].strip()[:_LONGEST_LINE]
    if not line.casefold().startswith(_FROM):
        return _separator(lines, at, line) is not None
    above = (one.strip()[:_LONGEST_LINE] for one in lines[max(at - 3, 0) : at])
    is_within = any(_RULE.match(one) or one.casefold().startswith("begin ") for one in above)
    return not is_within and _separator(lines, at, line) is not None


def _author_below(lines: Sequence[str], at: int) -> str:
    """The sender that the fields of a quoted message name."""
    if _is_attribution(lines[at]):
        return _author(lines[at])
    for line in lines[at : at + _HEADER_LINES]:
        low = line.strip().strip("*").casefold()
        if low.startswith(_FROM):
            value = line.partition(":")[2].partition("[mailto:")[0].strip(" *")[:_LONGEST_LINE]
            named = next(iter(people(value)), None)
            return (named.name or named.address) if named else ""
    return ""


def _signature_end(lines: Sequence[str], at: int) -> int:
    """Where a signature ends: at a quotation or at the end; `at` itself where it is too long."""
    for end in range(at + 1, min(at + 1 + _SIGNATURE_LINES, len(lines) + 1)):
        if end == len(lines) or lines[end].startswith(">") or _is_separator(lines, end):
            return end
        if _is_attribution(lines[end]):
            return end
    return at
