"""Media types by the ending of a file's name."""

from __future__ import annotations

from pathlib import PurePosixPath

_TEXT = {
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".mdx": "text/markdown",
    ".qmd": "text/markdown",
    ".rmd": "text/markdown",
    ".rst": "text/x-rst",
    ".rest": "text/x-rst",
    ".pod": "text/x-pod",
    ".adoc": "text/asciidoc",
    ".asciidoc": "text/asciidoc",
    ".org": "text/org",
    ".tex": "text/x-tex",
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "text/html",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".ndjson": "application/jsonl",
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".tab": "text/tab-separated-values",
    ".eml": "message/rfc822",
    ".mbox": "application/mbox",
    ".mbx": "application/mbox",
}

_DOCUMENTS = {
    ".pdf": "application/pdf",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".docm": "application/vnd.ms-word.document.macroenabled.12",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".xls": "application/vnd.ms-excel",
    ".msg": "application/vnd.ms-outlook",
    ".epub": "application/epub+zip",
    ".zip": "application/zip",
}

_SOURCE_CODE = {
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

_SOURCE_NAMES = frozenset({"Makefile", "Dockerfile", "Jenkinsfile", "Rakefile", "Gemfile"})

_ALL = {**_SOURCE_CODE, **_DOCUMENTS, **_TEXT}


def media_type_of(suffix: str) -> str:
    """The media type of files that end so (lower case, with the dot); `text/plain` by default."""
    return _ALL.get(suffix, "text/plain")


def suffix_of(media_type: str) -> str:
    """The first ending of files of that media type; empty where none is known."""
    return next((suffix for suffix, known in _ALL.items() if known == media_type), "")


def is_source_code(name: str) -> bool:
    """Whether a file of that name holds code or configuration."""
    path = PurePosixPath(name)
    return path.suffix.lower() in _SOURCE_CODE or path.name in _SOURCE_NAMES
