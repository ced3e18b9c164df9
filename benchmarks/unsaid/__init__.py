"""Questions that name what a store holds, and ask of it what it does not say."""
