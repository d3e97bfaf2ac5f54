"""The reader: one encoder that holds claims against a context. Data, network, training and export."""
