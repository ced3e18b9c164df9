"""Asking: from a question to passages, and why they were found."""
