-- Kernels under new names, the slowest 20 % shorter.
UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = start + (end - start) * 8 / 10
  WHERE demangledName IN (SELECT id FROM StringIds WHERE value LIKE 'sgemm(%');
UPDATE StringIds SET value = 'v2_' || value || '_tuned' WHERE id IN (SELECT shortName FROM CUPTI_ACTIVITY_KIND_KERNEL);
UPDATE StringIds SET value = 'tuned_v2::' || substr(value, 2, 2) || 'x' || substr(value, instr(value, '('))
  WHERE id IN (SELECT demangledName FROM CUPTI_ACTIVITY_KIND_KERNEL);
UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET mangledName = demangledName, shortName = demangledName;
