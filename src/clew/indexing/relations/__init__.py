"""Relations between names, and the dates at which they held."""
