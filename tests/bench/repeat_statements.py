"""repeat_statements.py IN.nt COPIES OUT.nt — a large N-Triples file of distinct statements from a small one: copy k of each line has
#rk added inside the IRI of its subject. For bench_ntriples and for loading."""
import sys


def main():
    source, copies, target = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    with open(source, "rb") as file:
        lines = [line for line in file.read().splitlines(True) if line.startswith(b"<")]
    with open(target, "wb") as file:
        for copy in range(copies):
            mark = b"#r%d" % copy
            file.writelines(line.replace(b">", mark + b">", 1) for line in lines)


if __name__ == "__main__":
    main()
