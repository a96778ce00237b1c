"""Judges whether a schedule is legal: applies the rules and turns their answers into a verdict."""
