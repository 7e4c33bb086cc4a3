"""What the bytes of a text say about how to read it, collected block by block."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

BLOCK = 1 << 20
BOM = codecs.BOM_UTF8


@dataclass(frozen=True)
class Look:
    """What the bytes of a text say about how to read it."""

    has_blank: bool
    has_tab: bool
    has_underscore: bool
    has_return: bool
    has_feed: bool
    has_nul: bool
    has_comment: bool
    is_utf8: bool
    windows_ends: bool
    longest_gap: int
    """The most bytes without a newline that go on from one block of 1 MB to the next."""

    @property
    def is_text(self) -> bool:
        """Whether the bytes are UTF-8 without NUL."""
        return self.is_utf8 and not self.has_nul


class Looking:
    """Collects the findings about a file while its blocks go by."""

    def __init__(self) -> None:
        self.returns = self.window_ends = 0
        self.last = b"\n"
        self.blank = self.tab = self.feed = self.nul = self.comment = self.underscore = False
        self.plain_end = False
        self.utf8 = True
        self.gap = self.longest_gap = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._clean = True

    def see(self, block: bytes) -> None:
        """Look at the next bytes, in pieces of one size, so that gaps are measured alike."""
        for start in range(0, len(block), BLOCK):
            self._see(block if len(block) <= BLOCK else block[start : start + BLOCK])

    def _see(self, block: bytes) -> None:
        self.blank = self.blank or b" " in block
        self.tab = self.tab or b"\t" in block
        self.feed = self.feed or b"\v" in block or b"\f" in block
        self.nul = self.nul or b"\x00" in block
        self.underscore = self.underscore or b"_" in block
        if not self.comment and b"#" in block:
            starts = self.last == b"\n" and block.startswith((b"#", BOM + b"#"))
            self.comment = starts or b"\n#" in block
        if b"\r" in block or self.last == b"\r":
            ends = block.count(b"\r\n") + (self.last == b"\r" and block.startswith(b"\n"))
            self.returns += block.count(b"\r")
            self.window_ends += ends
            self.plain_end = self.plain_end or block.count(b"\n") > ends
        else:
            self.plain_end = self.plain_end or b"\n" in block
        self._decode(block)
        self.last = block[-1:]
        newline = block.find(b"\n")
        self.gap += len(block) if newline < 0 else newline
        self.longest_gap = max(self.longest_gap, self.gap)
        if newline >= 0:
            self.gap = len(block) - block.rfind(b"\n") - 1

    def _decode(self, block: bytes) -> None:
        if not self.utf8 or (self._clean and block.isascii()):
            return
        try:
            self._decoder.decode(block)
            self._clean = self._decoder.getstate()[0] == b""
        except UnicodeDecodeError:
            self.utf8 = False

    def look(self) -> Look:
        """Return the findings about all the bytes seen."""
        ends = self.returns == self.window_ends
        return Look(
            has_blank=self.blank,
            has_tab=self.tab,
            has_return=self.returns > 0,
            has_feed=self.feed,
            has_underscore=self.underscore,
            has_nul=self.nul,
            has_comment=self.comment,
            is_utf8=self.utf8 and self._clean,
            windows_ends=ends and self.window_ends > 0 and not self.plain_end,
            longest_gap=self.longest_gap,
        )
