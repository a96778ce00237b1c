"""When, where and in what order: the records of a schedule, and what follows from them alone."""
