#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes a table of what bench/harness.py has measured: a row for each workload, the time of each peer over that of kernelc.

    python3 bench/harness.py --json rows.json softmax matmul
    python3 bench/table.py rows.json

docs/scripts/images.py reads such tables. A peer that was wrong, or was not there, has an empty cell.
"""
import json
import sys

# By column; of several the fastest. (Of attention eager chooses a backend itself; cuDNN is forced.)
PEERS = [("eager", "cudnn"), ("torch.compile",), ("triton",), ("cuBLAS", "cuBLASLt")]
HEAD = "| workload | of the copy bandwidth | µs | of an equal copy | × eager | × torch.compile | × Triton | × cuBLAS |"


def main():
    report = json.load(open(sys.argv[1], encoding="utf-8"))
    print(f"{report['device']}, kernelc {report['kernelc']}, PyTorch {report['torch']}, medians of {report['repeats']}; a copy moves "
          f"{report['copy_gb_s']:.0f} GB/s\n\n{HEAD}\n|---|" + "--:|" * 7)
    workloads = {}
    for row in report["rows"]:
        workloads.setdefault(row["workload"], {})[row["contender"]] = row
    for name, rows in workloads.items():
        own = rows.get("kernelc")
        if not own:
            continue
        cells = [f"{own['of_copy']:.2f}" if "of_copy" in own else "", f"{own['median_us']:.1f}",
                 f"{own['of_equal_copy']:.2f}" if "of_equal_copy" in own else ""]
        for names in PEERS:
            times = [row["median_us"] for peer, row in rows.items() if peer in names]
            cells.append(f"{min(times) / own['median_us']:.2f}" if times else "")
        print("| " + " | ".join([name] + cells) + " |")


if __name__ == "__main__":
    sys.exit(main())
