"""A client of the binary protocol that knows nothing of Ferry: client.py PORT IDENTITY TOKENS.

IDENTITY is a directory that `ferry identity new` made, TOKENS a file with a device token on each line. After an error
response it sends again what followed the refused notification, as Apple's pages had it. Prints the refused tokens.
"""
import binascii
import os
import socket
import ssl
import struct
import sys

SILENCE = 3  # seconds without an error response after which everything counts as delivered
PAYLOAD = b'{"aps":{"alert":"Hello"}}'


def frame(number, token):
    token = binascii.unhexlify(token)
    return (struct.pack(">BIIH", 1, number, 0, len(token)) + token + struct.pack(">H", len(PAYLOAD)) + PAYLOAD)


def send(port, identity, tokens, first):
    """Sends from the given number on. Returns the number that was refused, or None."""
    context = ssl.create_default_context(cafile=os.path.join(identity, "ca.pem"))
    context.load_cert_chain(os.path.join(identity, "client.pem"), os.path.join(identity, "client-key.pem"))
    plain = socket.create_connection(("localhost", port), 30)
    connection = context.wrap_socket(plain, server_hostname="localhost")
    try:
        try:
            for number in range(first, len(tokens)):
                connection.sendall(frame(number, tokens[number]))
        except (OSError, socket.error):
            pass  # The gateway has closed, and its error response is there to read.
        connection.settimeout(SILENCE)
        try:
            response = connection.recv(6)
        except (ssl.SSLError, socket.timeout):
            return None
        if len(response) != 6:
            sys.exit("The gateway closed without a word.")
        command, _, number = struct.unpack(">BBI", response)
        if command != 8:
            sys.exit("This is no error response: %r" % response)
        return number
    finally:
        connection.close()


def main():
    port, identity = int(sys.argv[1]), sys.argv[2]
    with open(sys.argv[3]) as file:
        tokens = file.read().split()
    first = 0
    while first < len(tokens):
        refused = send(port, identity, tokens, first)
        if refused is None:
            break
        print(tokens[refused])
        first = refused + 1


main()
