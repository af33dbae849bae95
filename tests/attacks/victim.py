"""A dpledger-server with TLS, callers and a policy, in a folder of its own; and ways to reach it."""
import base64
import datetime
import hashlib
import http.client
import json
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import time

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509.oid import NameOID

ISSUER = "https://issuer.example"
AUDIENCE = "dpledger"


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def pem_of(key):
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                             serialization.NoEncryption())


class Authority:
    def __init__(self, name):
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.certificate = self._sign(self.name, self.key.public_key(), [x509.BasicConstraints(True, None)])

    def issue(self, *names):
        """A certificate for these alternative names, and its key, both PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._sign(x509.Name([]), key.public_key(), [x509.SubjectAlternativeName(names)])
        return certificate.public_bytes(serialization.Encoding.PEM), pem_of(key)

    def _sign(self, subject, public_key, extensions):
        now = datetime.datetime.utcnow()
        builder = (x509.CertificateBuilder().subject_name(subject).issuer_name(self.name).public_key(public_key)
                   .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(hours=1))
                   .not_valid_after(now + datetime.timedelta(days=1)))
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        return builder.sign(self.key, hashes.SHA256())


class Issuer:
    """Makes JSON web tokens, good and bad ones."""

    def __init__(self):
        self.key = rsa.generate_private_key(65537, 2048)
        self.stranger = rsa.generate_private_key(65537, 2048)

    def jwks(self):
        numbers = self.key.public_key().public_numbers()

        def number(value):
            return base64url(value.to_bytes((value.bit_length() + 7) // 8, "big"))

        return json.dumps({"keys": [{"kty": "RSA", "kid": "one", "alg": "RS256", "use": "sig",
                                     "n": number(numbers.n), "e": number(numbers.e)}]})

    def token(self, key=None, header=None, **claims):
        now = int(time.time())
        body = {"iss": ISSUER, "aud": AUDIENCE, "sub": "bob", "iat": now, "exp": now + 600, **claims}
        head = {"alg": "RS256", "typ": "JWT", "kid": "one", **(header or {})}
        signed = ".".join(base64url(json.dumps(part).encode()) for part in (head, body))
        if head["alg"] == "none":
            return signed + "."
        signature = (key or self.key).sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return signed + "." + base64url(signature)

    def with_public_key_as_secret(self):
        """HS256 with the public key for a secret: the confusion of algorithms."""
        import hmac
        secret = self.key.public_key().public_bytes(serialization.Encoding.PEM,
                                                    serialization.PublicFormat.SubjectPublicKeyInfo)
        now = int(time.time())
        head = {"alg": "HS256", "typ": "JWT", "kid": "one"}
        body = {"iss": ISSUER, "aud": AUDIENCE, "sub": "bob", "iat": now, "exp": now + 600}
        signed = ".".join(base64url(json.dumps(part).encode()) for part in (head, body))
        return signed + "." + base64url(hmac.new(secret, signed.encode(), hashlib.sha256).digest())


class Victim:
    def __init__(self, binaries, folder):
        self.binaries, self.folder = pathlib.Path(binaries), pathlib.Path(folder)
        self.authority = Authority("the victim's authority")
        self.issuer = Issuer()
        certificate, key = self.authority.issue(x509.DNSName("localhost"))
        ca = self.authority.certificate.public_bytes(serialization.Encoding.PEM)
        for name, content in {"ca.pem": ca, "server.pem": certificate, "server.key": key,
                              "keys.json": self.issuer.jwks().encode(),
                              "policy": f"oidc:{ISSUER}#bob analyst *\n".encode()}.items():
            self.path(name).write_bytes(content)
            self.path(name).chmod(0o600)
        self.log = open(self.path("log"), "wb")
        self.process = subprocess.Popen(
            [self.binaries / "dpledger-server", "--listen", "127.0.0.1:0", "--port-file", self.path("port"),
             "--store", self.path("store"), "--cert", self.path("server.pem"), "--cert-key", self.path("server.key"),
             "--client-ca", self.path("ca.pem"), "--identity", "--policy", self.path("policy"),
             "--jwt-issuer", f"{ISSUER},{AUDIENCE},{self.path('keys.json')}"],
            stderr=self.log)
        for _ in range(600):
            if self.path("port").exists() and self.path("port").read_text().strip():
                break
            if self.process.poll() is not None:
                raise RuntimeError(self.path("log").read_text())
            time.sleep(0.05)
        self.port = int(self.path("port").read_text().rsplit(":", 1)[1])
        self.tls = ssl.create_default_context(cafile=self.path("ca.pem"))
        self.admin = self.path("store.tokens.first-admin").read_text().strip()

    def path(self, name):
        return self.folder / name

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(30)
        self.log.close()
        return code

    def resident_megabytes(self):
        pages = int(pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGESIZE") / 1e6

    def processor_seconds(self):
        total = 0
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            try:
                total += int((task / "schedstat").read_text().split()[0])
            except OSError:
                pass  # it has ended
        return total / 1e9

    def administer(self, *arguments):
        done = subprocess.run([self.binaries / "dpledger", *arguments, "--server", f"localhost:{self.port}", "--ca",
                               self.path("ca.pem"), "--token-file", self.path("store.tokens.first-admin"), "--json"],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return json.loads(done.stdout)

    def token(self, name, grant, *more):
        return self.administer("admin", "token", "create", name, "--grant", grant, *more)["secret"]

    def connect(self, *protocols):
        """A TLS connection, by ALPN to HTTP/1.1 or "h2"."""
        context = ssl.create_default_context(cafile=self.path("ca.pem"))
        context.set_alpn_protocols(list(protocols) or ["http/1.1"])
        return context.wrap_socket(socket.create_connection(("127.0.0.1", self.port), 20), server_hostname="localhost")

    def call(self, method, message, token=None, headers=None, path=None, body=None):
        """HTTP status, and the answer as JSON where it is one."""
        connection = http.client.HTTPSConnection("localhost", self.port, timeout=30, context=self.tls)
        lines = {"content-type": "application/json", **(headers or {})}
        if token is not None:
            lines["authorization"] = "Bearer " + token
        connection.request("POST", path or "/dpledger.v1." + method, body if body is not None else json.dumps(message),
                           lines)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        if answer.getheader("content-type", "").startswith("application/json"):
            return answer.status, json.loads(data)
        return answer.status, data
