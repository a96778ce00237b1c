"""Charts: records that say what is drawn, their layout in pixels, and SVG from it.

Other renderings take the same records and layout, so that they show the same picture.
"""
