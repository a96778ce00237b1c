"""Features of loop nests: what there is to count in them, as formulas that know no price."""
