"""Examples of each rule and advice at its boundary, which pages show and tests try."""
