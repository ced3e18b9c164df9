"""Documents: their text, versions and dates, and how they are saved."""
