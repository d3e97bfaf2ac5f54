"""USR (Mehri & Eskenazi, ACL 2020): a dialogue response judged without a reference."""
