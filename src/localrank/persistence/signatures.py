"""Ed25519 signatures of model files, made by the package cryptography."""

from __future__ import annotations

from typing import Any


def sign(digest: bytes, private_key: bytes) -> bytes:
    """The signature of a digest."""
    signature: bytes = _ed25519().Ed25519PrivateKey.from_private_bytes(private_key).sign(digest)
    return signature


def verify(digest: bytes, signature: bytes, public_key: bytes) -> bool:
    """Whether a signature, in hexadecimal digits, signs this digest with this key."""
    from cryptography.exceptions import InvalidSignature

    try:
        key = _ed25519().Ed25519PublicKey.from_public_bytes(public_key)
        key.verify(bytes.fromhex(signature.decode("ascii", "replace")), digest)
    except (InvalidSignature, ValueError):
        return False
    return True


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise ImportError(
            "Signing model files needs cryptography: pip install 'localrank[sign]'."
        ) from error
    return ed25519
