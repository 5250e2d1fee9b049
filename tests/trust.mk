# SPDX-License-Identifier: MIT
# What takes longer than `make test` may, and shows that the library can be trusted: campaigns of fuzzers, proofs, mutants, coverage,
# builds by every compiler and sanitizer, one table of answers. The Makefile includes this file; each target stands for itself.

.PHONY: bench-scale
bench-scale: all build/venv/.ready  ## how the converter's time and memory grow, up to 4,000 steps and 100,000 nodes; SCALE="--check FAMILY"
	@$(PYTHON) tests/bench_scale/run.py $(SCALE)
