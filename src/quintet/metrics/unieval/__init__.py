"""UniEval (Zhong et al., EMNLP 2022): every dimension is a question, answered by P(Yes) against P(No)."""
