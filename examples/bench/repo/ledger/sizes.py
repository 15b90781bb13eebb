"""Sizes of attachments."""

UNITS = ["B", "KiB", "MiB", "GiB"]


def show_size(size):
    """`1536` as `1.5 KiB`: one decimal, in the largest unit of which there is at least one."""
    unit = 0
    while size >= 1024 and unit < len(UNITS) - 1:
        size /= 1024
        unit += 1
    return f"{size} B" if unit == 0 else f"{size:.1f} {UNITS[unit]}"
