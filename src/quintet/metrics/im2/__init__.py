"""IM2 (Rao et al., EMNLP 2022): nine sub-metrics of a dialogue response, three categories, one score."""
