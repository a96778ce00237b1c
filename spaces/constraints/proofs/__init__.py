"""Proofs about loop nests for every size: obligations, their decision, and reports."""
