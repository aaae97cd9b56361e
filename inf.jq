repeat("x")
