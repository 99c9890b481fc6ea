"""The source texts' own forms of the dynamics in plain NumPy: to read beside the books, and to check each other."""
