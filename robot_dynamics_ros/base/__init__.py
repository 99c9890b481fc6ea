"""Common parts of all packages: errors, files, threads, progress, parameters, and contents of joint messages.

Imports no other package. Start with ``errors``, whose texts name culprit and cure, and ``parameters``, where a
parameter is declared once for node, command line and page.
"""
