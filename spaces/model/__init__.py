"""The algorithm, the schedule, and what the two mean together: regions and the loop nest."""

# Schedules and loop nests print by these, wherever they come from.
from spaces.model.nest import nest_card as nest_card
from spaces.model.nest import nest_text as nest_text
from spaces.model.writing import cards as cards
from spaces.model.writing import shown as shown
