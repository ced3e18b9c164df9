"""Traversal of the entity graph: search, paths, subgraphs, cut vertices."""
