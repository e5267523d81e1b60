"""A proxy on loopback that remembers what it was asked, and an API server behind a name that only the proxy knows."""

from __future__ import annotations

import base64
import datetime
import json
import select
import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.loopback import Exchange, Loopback

NAME = "only-the-proxy-knows.test"


class HiddenServer(Loopback):
    """Answers ``/version`` by TLS as ``NAME``. :ivar authority: the certificate to trust, PEM."""

    def __init__(self, folder: Path) -> None:
        self.authority = _certificate(folder / "hidden.pem")
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(folder / "hidden.pem")
        super().__init__(_answer, tls)


def _answer(request: Exchange) -> None:
    request.reply(200, json.dumps({"gitVersion": "v1.37.0"}).encode(), "application/json")


class LoggingProxy:
    """Leads to one port of this machine, whatever host is asked for, while the ``with`` block runs.

    :param login: ``name:password`` that it wants to be told.
    :ivar asked: the hosts and ports that it was asked for.
    """

    def __init__(self, port: int, login: str = "") -> None:
        self.asked: list[str] = []
        self._target = port
        self._login = login
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def __enter__(self) -> LoggingProxy:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._lead, args=(client,), daemon=True).start()

    def _lead(self, client: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(4096)
        lines = head.decode().split("\r\n")
        self.asked.append(lines[0].split()[1])
        wanted = f"Proxy-Authorization: Basic {base64.b64encode(self._login.encode()).decode()}".lower()
        if self._login and wanted not in [line.lower() for line in lines]:
            client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            client.close()
            return
        # Whoever breaks the connection off has what it wanted.
        with suppress(OSError), client, socket.create_connection(("127.0.0.1", self._target)) as server:
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            ways = {client: server, server: client}
            while True:
                for source in select.select(list(ways), [], [])[0]:
                    data = source.recv(65536)
                    if not data:
                        return
                    ways[source].sendall(data)


def _certificate(file: Path) -> str:
    """A certificate that signs itself, written with its key; the certificate as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    pem = made.public_bytes(serialization.Encoding.PEM)
    file.write_bytes(pem + key.private_bytes(*form))
    return pem.decode()
