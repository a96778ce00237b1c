"""Cards, HTML and SVG, in which everything that a user named is shown and nothing is obeyed.

It knows nothing of pipelines. Records say what stands on their cards, which notebooks and terminals
read; whole pages are made of its elements.
"""
