"""Tuned numbers of errors, files and processes.

Each has its unit and meaning. All are judgement: no study exists, and tests only fix their effect.
"""

# --- Errors.

# characters of a message, and of its part before the omission
LONGEST_MESSAGE = 2000
MESSAGE_HEAD = 1500
# characters of a name for which similar ones are searched
LONGEST_NAME = 200
# letters of a name that are enough to find it
NAME_PART = 3
# difflib's similarity ratio of parameter names; those of different nodes are less similar
SIMILAR_PARAMETERS = 0.81

# --- YAML: limits of time and memory (tools/fuzz, test/security/test_files.py).

# number of nesting levels
DEEPEST_YAML = 32
# number of values that aliases may add by expansion
MOST_REPEATED = 100_000
# characters; conversion from base 60, as in 1:30:00, takes quadratic time
LONGEST_INTEGER = 1000

# --- Processes.

# s for the last calls of the middleware, after which the process is ended
END_TIMEOUT = 2.5
# s; the kernel's timer has a range
LONGEST_TIMER = 1e6
