"""Source code read by the grammars of its languages (tree-sitter), within limits."""
