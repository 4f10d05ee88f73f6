"""Parts that the tests of the claims share: scopes, strategies, small instances, the ledger."""
