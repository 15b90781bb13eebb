"""bestk inside the frameworks that sample and train. Each module imports its framework only when it is used."""
