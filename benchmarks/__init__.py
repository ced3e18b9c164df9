"""Measurements that are run by hand, each printing figures and ratios."""
