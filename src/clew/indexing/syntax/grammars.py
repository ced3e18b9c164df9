"""Which languages have a grammar, and that grammar with its queries, loaded when first asked for.

The files in `queries` say what counts in a language, by capture:

| capture | what |
| --- | --- |
| `class`, `function` with `name` | a definition; `owner` where it stands outside of its class |
| `scope` with `name` | a namespace, or an `impl`: qualifies what stands in it |
| `self` | how a method names its own object |
| `extends`, `implements` | a base of the class around it |
| `call` (`object`) | what is called |
| `import`, `package` | statements that are read by language (`clew.indexing.structure.imports`) |
| `wrap`, `lead` | what belongs to the definition within it, or after it |
| `comment` | comments and docstrings |
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from importlib.resources import files
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Language, Query

    from clew.types import Document

_BY_MEDIA_TYPE = {
    "text/x-python": "python",
    "text/javascript": "javascript",
    "application/javascript": "javascript",
    "text/x-typescript": "typescript",
    "text/x-java": "java",
    "text/x-go": "go",
    "text/x-rust": "rust",
    "text/x-c": "c",
    "text/x-c++": "cpp",
}
_BY_SUFFIX = {".h": "cpp", ".tsx": "tsx"}
"""Endings that say more than the media type: a header may be of either language."""
_SHARED = {"javascript": "ecmascript", "typescript": "ecmascript", "cpp": "c"}
"""Queries that a language has with another one, beside its own."""
_VARIANTS = {"typescript": "language_typescript", "tsx": "language_tsx"}


class Grammar(NamedTuple):
    """A language and what is asked of its trees."""

    language: Language
    query: Query


def language_of(document: Document) -> str | None:
    """The name of the grammar that reads a document; None where there is none."""
    name = _BY_MEDIA_TYPE.get(document.media_type.partition(";")[0].strip())
    return name and _BY_SUFFIX.get(PurePosixPath(document.source).suffix.lower(), name)


@lru_cache(maxsize=16)
def grammar(name: str) -> Grammar:
    """The grammar of that name."""
    from tree_sitter import Language, Query

    family = "typescript" if name == "tsx" else name
    module = import_module(f"tree_sitter_{family}")
    language = Language(getattr(module, _VARIANTS.get(name, "language"))())
    queries = files("clew.indexing.syntax").joinpath("queries")
    names = [_SHARED[family], family] if family in _SHARED else [family]
    text = "".join(queries.joinpath(f"{name}.scm").read_text("utf-8") for name in names)
    return Grammar(language, Query(language, text))
