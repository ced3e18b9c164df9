"""Merging stores that were built apart into one that is as if all had been indexed there."""
