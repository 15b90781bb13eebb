"""Small helpers of a household ledger."""
