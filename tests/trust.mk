# SPDX-License-Identifier: MIT
# What takes longer than `make test` may, and shows that the library can be trusted: campaigns of fuzzers, proofs, mutants, coverage,
# builds by every compiler and sanitizer, one table of answers. The Makefile includes this file; each target stands for itself.

