env, input_filename
