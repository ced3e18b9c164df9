"""A snapshot with what changed since it was made."""
