"""A report in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.wording import count_of, list_names

if TYPE_CHECKING:
    from collections.abc import Mapping


def terminal_summary(data: Mapping[str, Any]) -> list[str]:
    """The masked columns and how far they moved, one line each; warnings at the end."""
    table = data["table"]
    unit = count_of(table["records"], "record")
    if "rows" in table:
        unit = f"{count_of(table['records'], 'person')} in {count_of(table['rows'], 'row')}"
    lines = [f"{unit}, {count_of(table['columns'], 'column')}"]
    if table["dropped_columns"]:
        lines.append(f"dropped: {list_names(table['dropped_columns'])}")
    if table["dropped_records"]:
        lines.append(f"records dropped: {table['dropped_records']}")
    lines += [f"recoded {one['name']}: {one['how']}" for one in data["recoded"]]
    width = max((len(column["name"]) for column in data["columns"]), default=0)
    lines += [
        f"{column['name']:<{width}}  {column['method']}: {column['changed']['share']} changed, "
        f"distance {column['rmse']:.3f} (root mean square)"
        for column in data["columns"]
    ]
    if table["released_as_is"]:
        lines.append(f"released as they are: {list_names(one['name'] for one in table['released_as_is'])}")
    return [*lines, *(f"Warning: {warning}" for warning in data["warnings"])]
