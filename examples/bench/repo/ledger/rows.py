"""Lines of a bank's export: fields between commas, in double quotes where they hold one."""


def fields(line):
    """The fields of a line, without the quotes around them."""
    return [field.strip('"') for field in line.split(",")]


def total(lines, column):
    """The sum of a column of cents."""
    return sum(int(fields(line)[column]) for line in lines)
