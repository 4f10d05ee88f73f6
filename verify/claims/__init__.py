"""The records of the ledger, one file per part of the paper."""
