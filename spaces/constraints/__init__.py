"""Devices and their limits, the rules of legality, verdicts and repairs, proofs for all sizes, and
the rules as constraints for a solver.
"""
