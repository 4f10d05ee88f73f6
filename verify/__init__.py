"""The paper's claims as tests, each with a control that must fail: `pytest verify/`."""
