"""What passes ask of a program or a loop nest before they change anything."""
