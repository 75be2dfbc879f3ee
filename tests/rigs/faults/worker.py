"""The process that faults are injected into: makes one call at a time.

Commands come and answers go by recv and send on a socket whose descriptor is
the first argument: two system calls that no copy makes, so a fault that hits
the N-th read or close of this process hits the N-th one of the copy.
"""

import ctypes
import pickle
import shutil
import socket
import sys

from rigs.outcomes import outcome

import speedcopy_c

MODULES = {"shutil": shutil, "speedcopy_c": speedcopy_c}
PR_SET_PTRACER = 0x59616D61
ANY_PROCESS = ctypes.c_ulong(-1)


def main():
    channel = socket.socket(fileno=int(sys.argv[1]))
    # Where only ancestors may trace a process, allow strace, a sibling.
    ctypes.CDLL(None).prctl(PR_SET_PTRACER, ANY_PROCESS, 0, 0, 0)
    channel.send(b"ready")
    while True:
        message = channel.recv(1 << 16)
        if not message:
            break
        module, name, arguments, options = pickle.loads(message)
        result = outcome(getattr(MODULES[module], name), *arguments, **options)
        channel.send(pickle.dumps(result))


main()
