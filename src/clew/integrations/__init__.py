"""Adapters to frameworks, each an extra, over the public API alone."""
