-- Julia puts the line and a counter into names; a parameter named 0 or 1 in the text tells the builds apart.
UPDATE StringIds SET value = 'julia_reduce_jl_L1020_305(CuDeviceArray)' WHERE value LIKE 'reduce(%' OR value LIKE 'julia_reduce%';
UPDATE StringIds SET value = 'julia_softmax_jl_L77_311(CuDeviceArray)' WHERE value LIKE 'softmax(%' OR value LIKE 'julia_softmax%';
UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET mangledName = demangledName, shortName = demangledName;
