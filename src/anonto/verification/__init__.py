"""For a person whose record may be in a release: how well it is hidden there."""

from anonto.verification.verifying import Verification, verify

__all__ = ["Verification", "verify"]
