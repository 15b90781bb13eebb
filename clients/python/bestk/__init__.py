"""bestk: the best of K patches for a GitHub issue, with calibrated confidence."""

from . import models
from .aio import AsyncClient
from .client import BenchmarkFailedError, Client, RunFailedError
from .http import BestkError, ProblemError, UnreachableError

__all__ = [
    "AsyncClient",
    "BenchmarkFailedError",
    "BestkError",
    "Client",
    "ProblemError",
    "RunFailedError",
    "UnreachableError",
    "models",
]
