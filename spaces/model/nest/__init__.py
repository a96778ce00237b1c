"""What an algorithm and a schedule mean together: bounds inference and the loop nest."""
