"""A moto server on a free port of loopback, for as long as standard input stays open.

Prints the port. Whoever started it holds the other end of standard input, so it ends with its starter however that ends.
"""

import sys

from moto.moto_server.threaded_moto_server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
print(port, flush=True)
sys.stdin.read()
server.stop()
