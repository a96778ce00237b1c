"""Proofs about loop nests that hold for every size: obligations, how they are decided, reports."""
