"""Whether a sentence states facts at all: no question, condition, hearsay, wish or code.

After the classes of speculation and negation cues of Vincze et al., "The BioScope corpus" (2008).
A cue silences its whole sentence: its scope is not parsed, and a fact that is missed costs less
than one that nobody stated.
"""

from __future__ import annotations

import re

from clew.text import cached

_UNSURE = re.compile(
    r"\b(?:if|whether|unless|lest|allegedly|reportedly|supposedly|purportedly|presumably|apparently"
    r"|rumou?r(?:s|ed)?|perhaps|maybe|possibly|probably|likely|unlikely|hypothetical(?:ly)?"
    r"|suppos(?:e|es|ing)|imagin(?:e|es|ed|ing)|assum(?:e|es|ed|ing)|pretend(?:s|ed|ing)?"
    r"|would|could|might|den(?:y|ies|ied|ying)|claim(?:s|ed|ing)?|alleg(?:e|es|ed|ing|ations?)"
    r"|accus(?:e|es|ed|ing|ations?)|believ(?:e|es|ed|ing)|thinks?|thought|doubt(?:s|ed|ful)?"
    r"|wish(?:es|ed|ing)?|hop(?:e|es|ed|ing)|specul(?:ates?|ated|ation)|suspect(?:s|ed)"
    r"|sa(?:id|ys|ying)|told|asks?|asked|according to|it is not|nobody|no one|false|untrue|myth"
    r"|(?:plan|plans|planned|intend|intends|intended|want|wants|wanted|try|tries|tried|fail|fails"
    r"|failed|refuse|refuses|refused|attempt|attempts|attempted|expected|due|about|going) to"
    r"|(?:suggest|argue|insist|state|report|write|feel|fear|announce|propose|conclude)(?:s|d|ed)?"
    r" that|wrote that|felt that)\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"[{}=\\]|\w\(\)|->|\A[#$>|]")


@cached(1, longest=1000)  # of a sentence each kind of relation asks it again
def states_facts(sentence: str) -> bool:
    """Whether what a sentence says is meant as a fact, as far as its words show."""
    if sentence.rstrip(" \n\"'”’)*_").endswith("?"):
        return False
    return not (_CODE.search(sentence) or _UNSURE.search(sentence))
