"""Proofs about loop nests for every size: all obligations, reports and certificates."""
