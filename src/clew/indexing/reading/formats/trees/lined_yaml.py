"""YAML (and JSON, which is YAML) whose mappings know their lines."""

from __future__ import annotations

from typing import Any

from clew.indexing.reading.formats.common import RawFile
from clew.text import one_line

LINE = "__line__"
"""Where a mapping has the line that it begins in."""


def read_lined_yaml(raw: RawFile, text: str) -> Any:  # noqa: ANN401 - any YAML value
    """The value of a text, its mappings with their lines; raises `UnreadableError`."""
    import yaml

    try:
        return yaml.load(text, Loader=_loader())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f" (line {mark.line + 1})" if mark else ""
        raise raw.unreadable(f"malformed YAML{line}: {one_line(str(error.problem))}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise raw.unreadable(f"malformed YAML: {one_line(str(error))}") from error


def _loader() -> Any:  # noqa: ANN401 - a class of a library that is loaded when it is needed
    import yaml

    class Loader(yaml.SafeLoader):
        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:  # noqa: ANN401
            mapping: dict[Any, Any] = super().construct_mapping(node, deep=deep)
            return {**mapping, LINE: node.start_mark.line + 1}

    def mapping(loader: Any, node: Any) -> Any:  # noqa: ANN401
        return loader.construct_mapping(node, deep=True)

    Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    return Loader
