# SPDX-License-Identifier: MIT
"""Classifies a folder or Parquet of pictures on a Ray cluster, into a folder of Parquet or CSV.

usage: classify_on_ray.py PICTURES MODEL.morsel ANSWERS [--parquet COLUMN] [--csv] [--top N] [--address ADDRESS]

PICTURES is a folder of picture files, at any depth; with --parquet a file or folder of Parquet whose COLUMN holds the bytes of such files.
It lies where each machine reaches it, as ANSWERS does: a shared disk, s3://bucket/path. ADDRESS is the cluster's, "auto" on one of its
machines; without it there is one on this machine alone. Rows keep their other columns, or the file's path.
"""
import argparse

import morsel.ray
import ray

FILES = ["jpg", "jpeg", "png", "bmp", "ppm", "webp"]


def main(words=None):
    parser = argparse.ArgumentParser(usage=__doc__)
    for name in ("pictures", "model", "answers"):
        parser.add_argument(name)
    parser.add_argument("--csv", action="store_true")
    parser.add_argument("--top", type=int, default=1)
    parser.add_argument("--parquet", metavar="COLUMN")
    parser.add_argument("--address")
    call = parser.parse_args(words)
    ray.init(address=call.address, ignore_reinit_error=True)
    if call.parquet:
        pictures = ray.data.read_parquet(call.pictures)
    else:  # files as they are: actors decode them
        pictures = ray.data.read_binary_files(call.pictures, include_paths=True, file_extensions=FILES)
    answers = morsel.ray.classify(pictures, call.model, call.parquet or "bytes", top=call.top)
    (answers.write_csv if call.csv else answers.write_parquet)(call.answers)


if __name__ == "__main__":
    main()
