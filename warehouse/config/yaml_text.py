"""YAML, which needs the extra `yaml`."""

from __future__ import annotations

from warehouse.config import installation
from warehouse.errors import UsageError


def load(text: str, where: str) -> object:
    """Return the contents of a text of YAML. Raises ValueError, and UsageError without PyYAML."""
    try:
        import yaml
    except ImportError:
        raise UsageError(
            f"{where}: reading YAML needs PyYAML: {installation.adding('yaml')}; or write JSON"
        ) from None
    try:
        found: object = yaml.safe_load(text)
    # raised for values that do not match their tag
    except (yaml.YAMLError, ArithmeticError, AttributeError, LookupError, TypeError) as error:
        raise ValueError(" ".join(str(error).split())) from None
    return found
