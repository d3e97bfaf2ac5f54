"""IM2 (Jiang et al., EMNLP 2022): nine sub-metrics of a dialogue response, three categories, one score."""
