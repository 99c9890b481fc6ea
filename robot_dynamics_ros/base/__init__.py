"""Common parts of all packages: errors, plain YAML, installed files, threads, progress, declarations of parameters.

Imports no other package. Start with ``errors``, whose texts name culprit and cure, and ``parameters``, where a
parameter is declared once for node, command line and page.
"""
