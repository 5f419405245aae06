"""Times and sizes as a person reads them: `31 s`, `2m 04s`, `1h 05m`; `8 GiB`; `2.1 kB`."""

from datetime import UTC, datetime, timedelta


def duration(span: timedelta) -> str:
    seconds = max(0, int(span.total_seconds()))
    minutes, s = divmod(seconds, 60)
    hours, m = divmod(minutes, 60)
    days, h = divmod(hours, 24)
    if days:
        return f"{days}d {h:02}h"
    if hours:
        return f"{hours}h {m:02}m"
    if minutes:
        return f"{minutes}m {s:02}s"
    return f"{seconds} s"


def stopwatch(span: timedelta) -> str:
    """Return `00:14`, and `1:02:05` past the hour: for a line that ticks."""
    minutes, s = divmod(max(0, int(span.total_seconds())), 60)
    hours, m = divmod(minutes, 60)
    return f"{hours}:{m:02}:{s:02}" if hours else f"{m:02}:{s:02}"


def limit(minutes: int | None) -> str:
    """Return a time limit: `45 min`, `1 h`, `1h 30m`, `2 days`."""
    if minutes is None:
        return "no time limit"
    if minutes < 60:
        return f"{minutes} min"
    if minutes % 1440 == 0:
        days = minutes // 1440
        return "1 day" if days == 1 else f"{days} days"
    if minutes % 60 == 0 and minutes < 2880:
        return f"{minutes // 60} h"
    return duration(timedelta(minutes=minutes))


def moment(at: datetime, now: datetime) -> str:
    """Return the clock time, with the date unless it is today, in the reader's own zone."""
    here = at.astimezone()
    form = "%H:%M:%S" if here.date() == now.astimezone().date() else "%Y-%m-%d %H:%M:%S"
    return here.strftime(form)


def memory(mib: int) -> str:
    """Return `8 GiB`; below one, `512 MiB`."""
    return f"{_short(mib / 1024)} GiB" if mib >= 1024 else f"{mib} MiB"


def memory_brief(mib: int) -> str:
    return f"{_short(mib / 1024)}G" if mib >= 1024 else f"{mib}M"


def file_size(size: int) -> str:
    if size < 1000:
        return f"{size} B"
    for unit, bytes_each in (("kB", 1e3), ("MB", 1e6)):
        if size < bytes_each * 999.95:
            return f"{size / bytes_each:.1f} {unit}"
    return f"{size / 1e9:.1f} GB"


def utc_now() -> datetime:
    return datetime.now(UTC)


def _short(number: float) -> str:
    return f"{number:.0f}" if number >= 100 or number == int(number) else f"{number:.1f}"
