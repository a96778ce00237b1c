"""Analyses of a program or a loop nest that passes need before they change anything."""
