"""Splitting: a document becomes sections (parents) and chunks (children)."""
