"""How near the tokens that a first estimate counts are to those of real vocabularies.

    uv run python -m benchmarks.token_counts FOLDER TOKENIZER.json…

A row for each folder within FOLDER, over its texts: what `usual_tokens`, and four characters a
token, are beyond the count of each vocabulary, per cent. A file `tokenizer.json` comes with most
open models; the package litellm carries those of DeepSeek and of Claude 2.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer

from clew.plugins.llm.budget import PER_CHARACTER, usual_tokens

LARGEST = 200_000
"""Bytes of a file that is read."""


def texts_of(folder: Path) -> list[str]:
    """The texts within a folder, those that are small and no UTF-8 left out."""
    found = []
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        if file.stat().st_size <= LARGEST:
            try:
                found.append(file.read_text("utf-8"))
            except UnicodeDecodeError:
                continue
    return found


def beyond(texts: Sequence[str], tokenizer: Tokenizer) -> tuple[float, float]:
    """Per cent beyond the true count: as it is estimated, and by characters."""
    encoded = tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
    true = sum(len(one.ids) for one in encoded)
    characters = PER_CHARACTER * sum(map(len, texts))
    return 100 * (sum(map(usual_tokens, texts)) / true - 1), 100 * (characters / true - 1)


def main() -> None:
    """Read the texts, count, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("tokenizers", type=Path, nargs="+")
    given = parser.parse_args()
    known = [(path.stem, Tokenizer.from_file(str(path))) for path in given.tokenizers]
    print("| texts |", " | ".join(f"{name}: estimated / characters" for name, _ in known), "|")
    print("| --- " * (len(known) + 1) + "|")
    for folder in sorted(path for path in given.folder.iterdir() if path.is_dir()):
        if texts := texts_of(folder):
            cells = ("{:+.0f} / {:+.0f}".format(*beyond(texts, one)) for _, one in known)
            print(f"| {folder.name} |", " | ".join(cells), "|")


if __name__ == "__main__":
    main()
