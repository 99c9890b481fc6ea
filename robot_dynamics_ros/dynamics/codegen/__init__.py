"""Code generation for one robot: general kernels are traced, written as source, compiled and cached on disk."""
