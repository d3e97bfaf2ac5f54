"""One module per published format, each with `read(raw, name, variant)`; `catalog.toml` says which set uses which."""
