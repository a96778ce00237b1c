"""Expressions: nodes, element types, operators, and the definitions of derived operators."""
