"""Settings of all tests."""

from hypothesis import settings

settings.register_profile("sparring", deadline=None)  # A shared machine stalls now and then.
settings.load_profile("sparring")
