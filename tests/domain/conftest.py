"""Properties are tried often enough to find faults, and never fail because a machine is slow."""

from hypothesis import HealthCheck, settings

settings.register_profile("calm", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("calm")
