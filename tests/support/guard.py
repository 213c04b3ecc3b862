"""Run one program so that it never outlives the process that asked for it.

    python -I -S guard.py LOG FOLDER PROGRAM ARGUMENT...

Standard output says `pid N` and, when the program ended, `exit N` (negative: the signal). Standard input is a life line:
`T` asks the program to end and kills it if it does not, `K` kills it at once, and the end of the line means that the
owner is gone, in whatever way: the program is ended and FOLDER removed. Uses the standard library alone.
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
    """Start the program with its output in the log; should the guard itself be killed, Linux kills the program."""
    pid = os.fork()
    if pid:
        return pid
    try:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.set_wakeup_fd(-1)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.execv(command[0], command)
    except OSError as error:
        os.write(2, f"guard: {command[0]}: {error.strerror}\n".encode())
    os._exit(127)


def main() -> None:
    log, folder, *command = sys.argv[1:]
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # The owner decides, over the life line; Python resets handlers at exec, so the program has its own.
        signal.signal(ignored, lambda *_: None)
    pid = spawn(log, command)
    os.write(1, f"pid {pid}\n".encode())

    orphaned = False
    inputs, patience = [0, wake_read], None
    while True:
        ready, _, _ = select.select(inputs, [], [], patience)
        if not ready:
            os.kill(pid, signal.SIGKILL)
            patience = None
        if wake_read in ready:
            os.read(wake_read, 512)
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            break
        if 0 in ready:
            order = os.read(0, 1)
            if order == b"K":
                os.kill(pid, signal.SIGKILL)
                continue
            if not order:
                orphaned = True
                inputs.remove(0)
            if patience is None:
                os.kill(pid, signal.SIGTERM)
                patience = GRACE_SECONDS
    if orphaned:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        os.write(1, f"exit {os.waitstatus_to_exitcode(status)}\n".encode())


if __name__ == "__main__":
    main()
