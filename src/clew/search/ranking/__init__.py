"""Ranking: features of candidates, the learned ranker, reranking."""
