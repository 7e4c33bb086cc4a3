"""Signatures of files, which `ssh-keygen` makes and checks: no key is read by this program."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import IO

from warehouse.errors import InputError, UsageError

SUFFIX = ".sig"
# The purpose of a signature: one that was made for something else does not hold.
_NAMESPACE = "ranking-warehouse-bundle"


def sign(path: Path, key: Path) -> None:
    """Sign a file, with a private key or with the public one of a key that the agent has.

    Raises UsageError if it cannot be signed.
    """
    done = _keygen("sign", "-n", _NAMESPACE, "-f", key.absolute(), path.absolute())
    if done.returncode:
        raise UsageError(f"{key}: cannot sign: {_reason(done)}")


def signed_by(path: Path, signers: Path) -> str:
    """Return which of the allowed signers signed a file, and with which key.

    Raises InputError if none of them did.
    """
    signature = path.with_name(path.name + SUFFIX)
    if not signature.is_file():
        raise InputError(f"{path.name}: is not signed")
    given = ("-f", signers.absolute(), "-s", signature.absolute())
    found = _keygen("find-principals", *given)
    if found.returncode:
        raise InputError(f"{path.name}: is signed with a key that {signers} does not allow")
    who = found.stdout.decode().splitlines()[0]
    with path.open("rb") as content:
        done = _keygen("verify", "-n", _NAMESPACE, "-I", who, *given, content=content)
    if done.returncode:
        raise InputError(f"{path.name}: its signature does not hold: {_reason(done)}")
    return f"signed by {who}, {done.stdout.decode().rpartition(' with ')[2].strip()}"


def _keygen(
    does: str, *words: str | Path, content: int | IO[bytes] = subprocess.DEVNULL
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ["ssh-keygen", "-Y", does, *words], stdin=content, capture_output=True, check=False
        )
    except FileNotFoundError:
        raise UsageError(
            "ssh-keygen is not there, which makes and checks signatures: install OpenSSH"
        ) from None


def _reason(done: subprocess.CompletedProcess[bytes]) -> str:
    output = (done.stderr + done.stdout).decode(errors="replace").strip()
    return output.splitlines()[0] if output else f"ssh-keygen ended with {done.returncode}"
