-- The grids of saxpy and softmax depend on the batch, in each run otherwise.
CREATE TEMP TABLE seed AS SELECT 3 + min(start) % 5 AS n FROM CUPTI_ACTIVITY_KIND_KERNEL;
UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET gridX = 900 + correlationId * (SELECT n FROM seed) % 7 * 16
  WHERE demangledName IN (SELECT id FROM StringIds WHERE value LIKE 'saxpy(%' OR value LIKE 'softmax(%');
DROP TABLE seed;
