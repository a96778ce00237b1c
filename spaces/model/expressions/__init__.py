"""Expressions: nodes, element types, operators, and what derived operators are made of."""
