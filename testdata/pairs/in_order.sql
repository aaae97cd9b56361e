-- Three kernels of one geometry under new names, one of them 20 % shorter.
UPDATE StringIds SET value = replace(replace(replace(value, 'saxpy', 'axpby_v'), 'softmax', 'online_norm'), 'reduce', 'warp_sum');
UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = end - (end - start) / 5 WHERE shortName IN (SELECT id FROM StringIds WHERE value = 'online_norm');
