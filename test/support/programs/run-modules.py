# Runs Python programs one after the other in one process, as run-modules.mjs runs modules. Each line of standard input is the path of a program.

import sys
import traceback

end = sys.argv[1]
for line in sys.stdin:
    path = line.rstrip("\n")
    try:
        with open(path, encoding="utf-8") as file:
            exec(compile(file.read(), path, "exec"), {"__name__": "__main__"})
    except Exception:
        traceback.print_exc()
    print(f"\n{end}", flush=True)
