"""The model: expressions, formulas, the algorithm, the schedule, their texts and the loop nest."""
