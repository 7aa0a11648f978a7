"""Names of models as names of folders: safe on every file system, and each model's its own."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

# With a suffix, a temporary name beside it and a path before it, this fits every file system's 255 bytes.
LONGEST = 80
# What Windows keeps for devices.
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def slug_of(name: str) -> str:
    """Return a name that is safe for file systems and shells. Different names may give the same one.

    >>> slug_of("zoo/ResNet 18/model"), slug_of("../../etc/passwd"), slug_of("con"), slug_of("")
    ('zoo-ResNet-18-model', 'etc-passwd', 'model-con', 'model')
    """
    kept = re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-._")
    if not kept or RESERVED.fullmatch(kept):
        kept = f"model-{kept}".rstrip("-")
    return kept if len(kept) <= LONGEST else f"{kept[:LONGEST - 9]}-{_digest(name)}"


def slugs_of(named: Sequence[tuple[str, str]]) -> list[str]:
    """Return unique folder names for pairs of a name and a source, unique even if case is ignored.

    Names that would be alike get a digest of both, all of them: what a model is called does not depend on its order.
    Two pairs that are equal are numbered.
    """
    plain = [slug_of(name) for name, _ in named]
    often = Counter(slug.casefold() for slug in plain)
    slugs, taken = [], Counter[str]()
    for slug, (name, source) in zip(plain, named, strict=True):
        if often[slug.casefold()] > 1:
            slug = f"{slug[:LONGEST - 9]}-{_digest(name, source)}"
        taken[slug.casefold()] += 1
        number = taken[slug.casefold()]
        slugs.append(slug if number == 1 else f"{slug}-{number}")
    return slugs


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode(errors="surrogateescape")).hexdigest()[:8]
