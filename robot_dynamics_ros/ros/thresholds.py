"""Tuned numbers of the nodes: times, timeouts and sizes of queues.

Each has its unit and meaning. Where no tool is named, the number is judgement: no study exists, and tests only fix its
effect.
"""

# --- Controller. Calibrated by tools/chaos (faults of processes and network) and benchmarks/ros_loop.py.

# s between two diagnostic reports of the controller
REPORT_PERIOD = 1.0
# s: longer gaps between commands are not offered as a QoS deadline
LONGEST_DEADLINE = 3600.0
# s from the discovery of a publisher of joint states to its first message
FIRST_MESSAGE_TIME = 3.0
# s between two looks at the compilation of the kernels
COMPILATION_POLL_PERIOD = 0.1

# --- Every node. tools/chaos (floods) calibrates the backlog of callbacks, tools/soak checks it over an hour.

# s and number of lines of one kind that are logged in it
LOG_PERIOD = 1.0
LOG_LINES = 10
# s to send the results of actions and services at the end
SEND_TIMEOUT = 0.5
# s to publish a final command; long, as a busy machine shall publish it too
COMMAND_TIMEOUT = 10.0
# s between two checks of the backlog of callbacks
BACKLOG_PERIOD = 0.1
# s of delay, and number of callbacks in it, from which on there is a backlog
BACKLOG_DELAY = 0.2
BACKLOG_CALLBACKS = 10
# s for which the executor is replaced then
REPLACEMENT_TIME = 10.0
# s; a Fast DDS 3.2 participant may crash or hang if it ends while others discover it
END_DELAY = 1.0

# --- Clients of a node.

# s until a node or its services are discovered
CLIENT_DISCOVERY_TIMEOUT = 10.0
# s until a service has answered; a deactivation waits until the arm rests
CLIENT_ANSWER_TIMEOUT = 60.0
# number of diagnostic reports, one a second, without acceptance or refusal of a trajectory; a busy controller is late
MOST_UNANSWERED_REPORTS = 5
# s without such a report
REPORT_TIMEOUT = 10.0

# --- Player and recorder. tools/chaos (floods) calibrates the queue.

# s for which connections have to be unchanged before the first message
CONNECTION_SETTLING_TIME = 1.0
# s; the heartbeat period of Fast DDS is 3 s
ACKNOWLEDGE_TIMEOUT = 5.0
# number of messages in the queue of a topic
RECORDER_QUEUE = 1000
# s to write the messages that are queued at the end
LAST_MESSAGES_TIME = 0.2

# --- Simulation. benchmarks/ros_loop.py measures pace and delays.

# s, at least, after which an unchanged state is published again
REPEAT_PERIOD = 0.02
# s after which a missing command is reported in lockstep
MISSING_COMMAND_TIME = 0.5
# s after which other callbacks are run
LONGEST_BUSY_TIME = 0.005
# s on which a late simulation catches up, or a period if that is longer
CATCH_UP_TIME = 0.02
# s: shortest and longest period of the timer
SHORTEST_TICK = 0.0005
LONGEST_TICK = 0.01
