"""Becomes the host of a team's processes: `python -I -S host.py SOCKET DIRECTORY READY`. See `host_main.py`.

Isolated, so that nobody's environment has a say in it. All that it needs is the standard library, and Corral behind it.
"""

import sys
from os.path import abspath, dirname

if __name__ == "__main__":
    sys.path.append(dirname(dirname(dirname(dirname(abspath(__file__))))))
    from corral.adapters.subprocess.host_main import main

    sys.exit(main(sys.argv[1:]))
