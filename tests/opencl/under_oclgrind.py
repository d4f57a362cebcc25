"""under_oclgrind.py LIBRARY PROGRAM [ARGUMENT...] — runs a program with Oclgrind as the only OpenCL driver.

Fails when the program does, and when Oclgrind saw a data race, an access out of bounds, a wrong call of the interface, or anything
else that it complains of. Exit status 77 without the library, and when the program says that there is nothing to test (3).

Kernels are compiled without optimisation: the optimiser makes instructions that this simulator does not know
(llvm.usub.sat), and moves accesses away from the lines that the complaints name.
"""
import os
import subprocess
import sys
import tempfile

MOST_LINES = 60


def main():
    library, command = sys.argv[1], sys.argv[2:]
    if not os.path.exists(library):
        print("skipped: Oclgrind is not installed (package oclgrind)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        vendors, log = os.path.join(folder, "vendors"), os.path.join(folder, "log")
        os.mkdir(vendors)
        with open(os.path.join(vendors, "oclgrind.icd"), "w", encoding="utf-8") as file:
            file.write(library + "\n")
        settings = {"OCL_ICD_VENDORS": vendors, "OCLGRIND_DATA_RACES": "1", "OCLGRIND_CHECK_API": "1", "OCLGRIND_LOG": log,
                    "OCLGRIND_BUILD_OPTIONS": "-cl-opt-disable", "OCLGRIND_NUM_THREADS": "2"}
        status = subprocess.run(command, env={**os.environ, **settings}, check=False).returncode
        complaints = []
        if os.path.exists(log):
            with open(log, encoding="utf-8", errors="replace") as file:
                complaints = [line.rstrip() for line in file if line.strip()]
    for line in complaints[:MOST_LINES]:
        print(f"oclgrind: {line}")
    if complaints:
        print(f"{len(complaints)} lines of complaints")
    if complaints:
        return 1
    return 77 if status == 3 else status


if __name__ == "__main__":
    sys.exit(main())
