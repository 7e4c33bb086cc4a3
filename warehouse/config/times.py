"""Times as people write them, in options, side-cars and the names of files."""

from __future__ import annotations

import datetime as dt
import re

_HINT = (
    "write it as 2026-09-01 or 2026-09-01T12:00+02:00; "
    "2026-09-01_12-00 and 20260901-120000, as in names of files, are in UTC"
)
_DAY = r"(?P<day>\d{4}-?\d\d-?\d\d|\d{4}-?W\d\d-?\d)"
_WEEK = r"\d{4}-?W\d\d"
_ZONE = r"(?P<zone>Z|[+-]\d\d:\d\d{more})?"
# An hour followed by -05 is a time five hours west in ISO 8601, and five minutes past in a file
# name. It is read as a zone only after colons, where it can mean nothing else.
_FORMS = tuple(
    re.compile(_DAY + clock + _ZONE.replace("{more}", zone), re.ASCII)
    for clock, zone in (
        (
            r"[T _-](?P<h>\d\d):(?P<m>\d\d)(?::(?P<s>\d\d)(?:[.,](?P<f>\d+))?)?",
            r"|[+-]\d\d(?:\d\d)?",
        ),
        (r"[T _-](?P<h>\d\d)(?P<m>\d\d)(?:(?P<s>\d\d)(?:[.,](?P<f>\d+))?)?", r"|[+-]\d{4}|\+\d\d"),
        (r"[T _-](?P<h>\d\d)(?P<by>[-_])(?P<m>\d\d)(?:(?P=by)(?P<s>\d\d))?", ""),
        (r"[T ](?P<h>\d\d)", r"|\+\d\d"),
    )
)


def read(text: str) -> dt.date:
    """Return the time of a text, in UTC if it has no zone, or a day if it is only a day.

    A week alone is its first day.

    Raises ValueError with what to do, also if a reader could understand another time.

    >>> read("2026-09-01T12:00+02:00").isoformat(), read("2026-09-01").isoformat()
    ('2026-09-01T12:00:00+02:00', '2026-09-01')
    >>> read("2026-09-01_12-05").isoformat(), read("20260901-120500").isoformat()
    ('2026-09-01T12:05:00+00:00', '2026-09-01T12:05:00+00:00')
    """
    try:
        if re.fullmatch(f"{_DAY}|{_WEEK}", text, re.ASCII):
            return dt.date.fromisoformat(text)
        found = next(found for form in _FORMS if (found := form.fullmatch(text)))
        fields = found.groupdict()
        hour, minute, second = (int(fields.get(key) or 0) for key in "hms")
        fraction = int(f"{fields.get('f') or '':0<6}"[:6])
        time = dt.time(hour, minute, second, fraction, tzinfo=_zone(fields["zone"]))
        moment = dt.datetime.combine(dt.date.fromisoformat(fields["day"]), time)
    except (ValueError, StopIteration):
        raise ValueError(_HINT) from None
    return in_utc(moment)


def begin(given: str | dt.date) -> dt.datetime:
    """Return a time, or the start of a day, in UTC if it has no zone. Raises ValueError.

    >>> begin("2026-09-01").isoformat()
    '2026-09-01T00:00:00+00:00'
    """
    found = read(given) if isinstance(given, str) else given
    if not isinstance(found, dt.datetime):
        found = dt.datetime.combine(found, dt.time())
    return in_utc(found)


def end(given: str | dt.date) -> dt.datetime:
    """Return a time, or the end of a day or week, in UTC if it has no zone. Raises ValueError.

    >>> end("2026-09-01").isoformat(), end("2026-W36").isoformat()
    ('2026-09-01T23:59:59.999999+00:00', '2026-09-06T23:59:59.999999+00:00')
    """
    found = read(given) if isinstance(given, str) else given
    if isinstance(found, dt.datetime):
        return in_utc(found)
    if not isinstance(found, dt.date):
        raise ValueError(f"is a text, a date or a time, not {type(given).__name__}; {_HINT}")
    is_week = isinstance(given, str) and re.fullmatch(_WEEK, given, re.ASCII)
    last = min(dt.date.max.toordinal(), found.toordinal() + (6 if is_week else 0))
    return dt.datetime.combine(dt.date.fromordinal(last), dt.time.max, dt.UTC)


def in_utc(moment: dt.datetime) -> dt.datetime:
    """Return a time with its zone, UTC if it has none.

    Raises ValueError if UTC has no such time: no calculation would be possible with it.

    >>> in_utc(dt.datetime(2026, 9, 1)).isoformat()
    '2026-09-01T00:00:00+00:00'
    """
    zoned = moment.replace(tzinfo=dt.UTC) if moment.tzinfo is None else moment
    try:
        zoned.astimezone(dt.UTC)
    except OverflowError:
        raise ValueError("it lies outside the years 1 to 9999 in UTC") from None
    return zoned


def _zone(text: str | None) -> dt.tzinfo:
    if text is None or text == "Z":
        return dt.UTC
    digits = text[1:].replace(":", "")
    hours, minutes = int(digits[:2]), int(digits[2:] or 0)
    if hours > 23 or minutes > 59:
        raise ValueError(text)
    away = dt.timedelta(hours=hours, minutes=minutes)
    return dt.timezone(-away if text[0] == "-" else away)
