"""Linking: names that mean one entity are tied together."""
