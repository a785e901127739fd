"""Certificates of a test's own making: somebody who vouches, and hosts that are vouched for."""

import datetime
import ipaddress
import os
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAY = datetime.timedelta(days=1)


class Authority:
    """Vouches for hosts. Its own certificate is in `file`."""

    def __init__(self, directory: Path, name: str = "ca") -> None:
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{name} of a test")])
        usage = x509.KeyUsage(
            digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False,
            key_encipherment=False, data_encipherment=False, key_agreement=False, encipher_only=False,
            decipher_only=False,
        )  # fmt: skip
        builder = self._builder(self._name, self._key).add_extension(x509.BasicConstraints(True, 0), critical=True)
        self._certificate = builder.add_extension(usage, critical=True).sign(self._key, hashes.SHA256())
        self.file = directory / f"{name}.pem"
        self.file.write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))

    def host(self, *names: str) -> tuple[Path, Path]:
        """The certificate and the key of a host with these names or addresses."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])]), key)
        builder = builder.add_extension(x509.SubjectAlternativeName([_general(name) for name in names]), critical=False)
        signed = builder.sign(self._key, hashes.SHA256())
        cert, private = self._directory / f"{names[0]}.cert.pem", self._directory / f"{names[0]}.key.pem"
        cert.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        descriptor = os.open(private, os.O_WRONLY | os.O_CREAT, 0o600)
        with open(descriptor, "wb") as file:
            encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
            file.write(key.private_bytes(encoding, form, serialization.NoEncryption()))
        return cert, private

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _DAY)
            .not_valid_after(now + _DAY)
        )


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
