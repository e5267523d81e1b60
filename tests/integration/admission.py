"""An admission webhook on loopback that lets everything pass, but at first fails, as while its add-on is installed."""

from __future__ import annotations

import base64
import datetime
import ipaddress
import json
import ssl
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class AdmissionWebhook:
    """Answers while the ``with`` block runs.

    :param failures: how many requests of either kind, dry runs and others, it fails first.
    :ivar calls: how often it was asked, by whether it was a dry run.
    """

    def __init__(self, folder: Path, failures: int) -> None:
        self.calls: Counter[bool] = Counter()
        self._failures = failures
        self._certificate, key = certificate_of_loopback(folder)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._certificate, key)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)

    @property
    def client_config(self) -> dict[str, str]:
        """How a webhook configuration names it."""
        bundle = base64.b64encode(self._certificate.read_bytes()).decode()
        return {"url": f"https://127.0.0.1:{self._server.server_port}/", "caBundle": bundle}

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        webhook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                request = review["request"]
                dry_run = bool(request.get("dryRun"))
                webhook.calls[dry_run] += 1
                answer = {**review, "request": None, "response": {"uid": request["uid"], "allowed": True}}
                content = json.dumps(answer).encode()
                self.send_response(503 if webhook.calls[dry_run] <= webhook._failures else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler


def certificate_of_loopback(folder: Path) -> tuple[Path, Path]:
    """Files of a certificate for 127.0.0.1 that is its own authority, and of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "loopback")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate, private = folder / "loopback.crt", folder / "loopback.key"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return certificate, private
