"""Run one program so that it never outlives the process that asked for it.

    python -I -S guard.py LOG FOLDER PROGRAM ARGUMENT...

Standard output says `pid N` once the program runs and, when it ended, `exit N` (negative: the signal). Standard input is
a life line: `T` asks the program to end and kills it if it does not, `K` kills it at once, and the end of the line means
that the owner is gone, in whatever way: the program is killed and FOLDER removed. Uses the standard library alone.
"""

import ctypes
import os
import select
import shutil
import signal
import sys

GRACE_SECONDS = 10.0
PR_SET_PDEATHSIG = 1


def spawn(log: str, command: list[str]) -> int:
    """Start the program with its output in the log; returns when it runs, or its failure to start is in the log."""
    started, starting = os.pipe()  # both ends close at exec
    pid = os.fork()
    if pid:
        os.close(starting)
        os.read(started, 1)
        os.close(started)
        return pid
    try:
        if sys.platform == "linux":  # should the guard itself be killed
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.execv(command[0], command)
    except OSError as error:
        os.write(2, f"guard: {command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def main() -> None:
    log, folder, *command = sys.argv[1:]
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write)
    for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # The owner decides, over the life line. A handler, unlike SIG_IGN, is not inherited by the program.
        signal.signal(number, lambda *_: None)
    pid = spawn(log, command)
    os.write(1, f"pid {pid}\n".encode())

    orphaned = False
    inputs = [0, wake_read]
    patience: float | None = None
    while True:
        ready, _, _ = select.select(inputs, [], [], patience)
        if wake_read in ready:
            os.read(wake_read, 512)
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            break
        order = os.read(0, 1) if 0 in ready else None
        if order == b"T":
            os.kill(pid, signal.SIGTERM)
            patience = GRACE_SECONDS
        elif order is not None or not ready:  # K, the end of the line, or no patience left
            os.kill(pid, signal.SIGKILL)
            orphaned = order == b""
            inputs, patience = [wake_read], None
    if orphaned:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        os.write(1, f"exit {os.waitstatus_to_exitcode(status)}\n".encode())


if __name__ == "__main__":
    main()
