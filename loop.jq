def f: f; f
