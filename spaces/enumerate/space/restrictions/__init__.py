"""Restrictions of a space that its user gives."""
