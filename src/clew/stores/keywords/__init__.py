"""Searching a large store by words: an index beside it, kept in step with it."""
