"""Programs as users write them, with annotations; mypy checks them as strictly as the library."""
