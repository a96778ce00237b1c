"""Examples of each rule and advice at its boundary; pages show them and tests verify them."""
