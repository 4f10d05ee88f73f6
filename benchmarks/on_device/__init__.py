"""The parts of `device.py`."""
