"""Check how well the record of a person is hidden in a release.

The package can be called: ``anonto.verify(record, release, plan)`` is `anonto.verify.verifying.verify`.
"""

from anonto.runtime.callable_package import make_callable
from anonto.verify.verifying import Verification, verify

__all__ = ["Verification", "verify"]

make_callable(__name__, verify)
