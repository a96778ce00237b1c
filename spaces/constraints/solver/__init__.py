"""The rules over finite sets of schedules, as clauses and as constraints for the solver."""
