-- All times stretched by 15 %, kernels 10 % shorter than before.
UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = start * 115 / 100 + (end - start) * 9 / 10, start = start * 115 / 100;
UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET end = start * 115 / 100 + (end - start), start = start * 115 / 100;
UPDATE CUPTI_ACTIVITY_KIND_MEMSET SET end = start * 115 / 100 + (end - start), start = start * 115 / 100;
UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start = start * 115 / 100, end = end * 115 / 100;
UPDATE NVTX_EVENTS SET start = start * 115 / 100, end = end * 115 / 100;
UPDATE PROFILER_OVERHEAD SET start = start * 115 / 100, end = end * 115 / 100;
