"""Carries the programs of Hallmark: hallmark, mcp-publisher and hashfile-mcp."""

import os
import signal
import subprocess
import sys
import sysconfig


def main() -> None:
    """Run hallmark, which the wheel put beside Python's own scripts, in place of this process."""
    suffix = ".exe" if os.name == "nt" else ""
    places = [os.path.dirname(os.path.abspath(sys.argv[0])), sysconfig.get_path("scripts")]
    for place in places:
        program = os.path.join(place, "hallmark" + suffix)
        if os.path.isfile(program):
            break
    else:
        sys.exit("hallmark-mcp: the program hallmark is not in " + " or ".join(places))
    if os.name == "nt":
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the program too, which ends in its own time
        sys.exit(subprocess.run([program, *sys.argv[1:]]).returncode)
    os.execv(program, [program, *sys.argv[1:]])
