"""HTML and SVG as text, in which everything that a user named is escaped.

It knows nothing of pipelines: records that show themselves in notebooks, and whole pages, are made
of its elements.
"""
