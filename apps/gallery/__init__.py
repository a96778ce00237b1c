"""Pipelines of many kinds, a file each: what cost models learn from and are judged by.

The apps of :mod:`spaces.apps.catalog` are few, and prices were made while looking at them. These
are what people write otherwise. Each says its kind and checks itself against NumPy.
"""
