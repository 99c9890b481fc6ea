"""Kernels customised to one robot: traced from the general ones, written out as source, compiled and kept on disk."""
