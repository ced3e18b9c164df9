"""`clew search`: its options, its quick way in, and what it prints."""
