"""CTC (Deng, Tan et al., EMNLP 2021): compression, transduction and creation judged by information alignment."""
