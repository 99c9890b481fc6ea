"""Tuned numbers of reading, writing and comparing bags and messages.

They decide, but follow neither from a format nor from a parameter. Each has its unit and meaning, and each section what
calibrates it. "Judgement" means that no study exists: the number was chosen by reasoning, and tests fix its effect.
"""

import math

# --- Limits of what is read, so that no file or message occupies much time or memory. Calibrated by tools/input_costs
# (docs/security.md); tools/fuzz checks time and memory.

# bytes: unpacked size of a chunk or a message, at most
LARGEST_UNPACKED = 1 << 27
# bytes: unpacked size of any file, at least
LEAST_FILE_LIMIT = 1 << 30
# ratio of the unpacked size of a large file to its size
LARGEST_FILE_RATIO = 100
# ratio of the unpacked size of a chunk to its size
LARGEST_CHUNK_RATIO = 64
# bytes of chunks that rosbags holds at once
CHUNKS_AT_ONCE = 1 << 25
# number of records in a packed chunk: for any chunk, and for each byte
CHUNK_RECORDS = 1000
RECORDS_PER_BYTE = 8
# number of keys in a channel's metadata; recorders write four
MOST_METADATA_KEYS = 100
# characters of offered QoS profiles, enough for some hundred publishers
LONGEST_PROFILES = 1 << 16
# number of instructions of sqlite3's virtual machine: for any file, and for each byte
DATABASE_STEPS = 1_000_000
DATABASE_STEPS_PER_BYTE = 10
# number of joint names in a message, and of bytes in a name; reading that many takes about 1 ms
MOST_NAMES = 1000
# number of points times joints; reading them delays the next command by 1 ms
MOST_POSITIONS = 14_000
# number of layouts of joint states that are remembered
MOST_LAYOUTS = 64
# number of joints of one topic, beside those with most values
MOST_OTHER_JOINTS = 256

# --- Order and gaps of messages. Judgement; test/recordings/bags fixes their effect.

# median steps between two messages, between which values are interpolated: one message may be missing
INTERPOLATED_STEPS = 2.5
# rad, above the range of positions modulo 2 pi
WRAPPED_RANGE = 2.1 * math.pi
# median steps: a message that comes later was not only overtaken by others
LATE_STEPS = 5.0
# number of messages that come so late although no clock was set back
FEW_LATE = 10
# number of messages, or values, that determine a constant shift, at least
LEAST_FOR_SHIFT = 3
# number of messages of one bag whose stamps are compared with all of the other to find a shift
SHIFT_SAMPLES = 8
# number of elements up to which each element of an array is a field of its own
FEW_ELEMENTS = 32
# bytes: a longer run of zeros at the end of a file comes from the file system
LONGEST_ZEROS = 512

# --- Sizes that change speed and memory, not results. Judgement.

# number of messages, or pairs of them, that are converted at a time
MESSAGES_AT_ONCE = 1024
# bytes of a file that are read at a time
BYTES_AT_ONCE = 1 << 16

# --- Recording of faults. Judgement; tools/chaos shows the effect on the control loop.

# bytes of messages that are kept in memory
FAULT_BUFFER = 64_000_000
# number of bags that are kept
MOST_FAULT_BAGS = 10
# s that are recorded after a fault
TIME_AFTER_FAULT = 0.3
# s for which the writing thread may hold Python's interpreter lock; by default 5 ms
SWITCH_INTERVAL = 1e-4
