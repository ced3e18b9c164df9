"""Answering in words: `pipeline.py` leads from a search to an answer whose quotations stand."""
