"""TCP ports of this machine."""

import socket


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As the daemons do: a connection that is still fading away does not hold a port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            # On every address: slurmd and slurmdbd listen so, whatever they are told.
            probe.bind(("0.0.0.0", port))
        except OSError:
            return False
        return True
