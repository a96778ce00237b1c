"""Reductions: what an update accumulates, by which operator, and in what parts."""
