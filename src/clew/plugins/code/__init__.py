"""Source code: its files, where they are cut, and what they define, import, extend and call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from clew.errors import has_extra
from clew.hookspecs import DocumentKind, Reader, hookimpl
from clew.text import text_digest

if TYPE_CHECKING:
    from clew.indexing.reading.common import RawFile, ReadResult

_ENDINGS = {
    ".bash": "text/x-shellscript",
    ".c": "text/x-c",
    ".cc": "text/x-c++",
    ".clj": "text/x-clojure",
    ".cpp": "text/x-c++",
    ".cs": "text/x-csharp",
    ".css": "text/css",
    ".cu": "text/x-c++",
    ".cxx": "text/x-c++",
    ".dart": "text/x-dart",
    ".erl": "text/x-erlang",
    ".ex": "text/x-elixir",
    ".exs": "text/x-elixir",
    ".f90": "text/x-fortran",
    ".fs": "text/x-fsharp",
    ".go": "text/x-go",
    ".groovy": "text/x-groovy",
    ".h": "text/x-c",
    ".hh": "text/x-c++",
    ".hpp": "text/x-c++",
    ".hs": "text/x-haskell",
    ".java": "text/x-java",
    ".jl": "text/x-julia",
    ".js": "text/javascript",
    ".jsx": "text/javascript",
    ".kt": "text/x-kotlin",
    ".kts": "text/x-kotlin",
    ".lua": "text/x-lua",
    ".m": "text/x-objective-c",
    ".mjs": "text/javascript",
    ".ml": "text/x-ocaml",
    ".php": "text/x-php",
    ".pl": "text/x-perl",
    ".pm": "text/x-perl",
    ".ps1": "text/x-powershell",
    ".py": "text/x-python",
    ".pyi": "text/x-python",
    ".r": "text/x-r",
    ".rb": "text/x-ruby",
    ".rs": "text/x-rust",
    ".scala": "text/x-scala",
    ".scss": "text/x-scss",
    ".sh": "text/x-shellscript",
    ".sol": "text/x-solidity",
    ".sql": "text/x-sql",
    ".svelte": "text/x-svelte",
    ".swift": "text/x-swift",
    ".tf": "text/x-terraform",
    ".toml": "application/toml",
    ".ts": "text/x-typescript",
    ".tsx": "text/x-typescript",
    ".vue": "text/x-vue",
    ".xml": "application/xml",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".zig": "text/x-zig",
    ".zsh": "text/x-shellscript",
}
_NAMES = frozenset({"Makefile", "Dockerfile", "Jenkinsfile", "Rakefile", "Gemfile"})
# Of media types other than text/x-…, without the x-.
_LANGUAGES = frozenset({
    "css", "ecmascript", "httpd-php", "javascript", "perl", "php", "powershell", "python-code",
    "ruby", "sh", "shellscript", "sql", "toml", "typescript", "xml", "yaml",
})  # fmt: skip
_NOT_CODE = frozenset({"x-log", "x-markdown", "x-rst", "x-tex", "x-web-markdown"})


def is_code(media_type: str) -> bool:
    """Whether a media type names source code: `text/x-python`, `application/javascript`, …."""
    kind, _, name = media_type.partition(";")[0].strip().partition("/")
    if kind == "text" and name.startswith("x-"):
        return name not in _NOT_CODE
    return kind in {"text", "application"} and name.removeprefix("x-") in _LANGUAGES


def read_source(raw: RawFile) -> ReadResult:
    """A file as it is, called by its name and its folder's (`httpx/_client.py`): many share one."""
    from clew.indexing.reading.text import read_text  # a search reads none

    path = PurePosixPath(raw.source)
    is_named = path.suffix.lower() in _ENDINGS or path.name in _NAMES
    title = "/".join(part for part in path.parts[-2:] if is_named and part != "/")
    read = read_text(raw)
    titled = [replace(one, title=one.title or title) for one in read.documents]
    if not has_extra("code"):
        from clew.plugins.code.parse import language_of

        if any(map(language_of, titled)):
            # A digest that is not the file's makes each run read it anew, until there is a grammar.
            by_words = (replace(d, sha256=text_digest(f"by words\n{d.text}")) for d in titled)
            return replace(read, documents=tuple(by_words), lacks="code")
    return replace(read, documents=tuple(titled))


@hookimpl
def readers() -> Mapping[str, Reader]:
    """See `Hooks`."""
    return dict.fromkeys((*_ENDINGS, *map(str.lower, _NAMES)), read_source)


@hookimpl
def kinds() -> Sequence[DocumentKind]:
    """See `Hooks`."""
    return [
        DocumentKind(
            name="code",
            has=is_code,
            endings=_ENDINGS,
            cut="clew.plugins.code.parse:cut",
            names="clew.plugins.code.structure:extract_code",
        )
    ]


@hookimpl
def structures() -> Sequence[str]:
    """See `Hooks`."""
    return ["clew.plugins.code.structure:code_structure"]
