"""Whether a schedule is legal: rules are asked, and their answers become a verdict."""
