-- The range memory in an NVTX category with a name, the range compute in a domain.
UPDATE NVTX_EVENTS SET category = 7 WHERE text = 'memory' OR textId IN (SELECT id FROM StringIds WHERE value = 'memory');
UPDATE NVTX_EVENTS SET domainId = 5 WHERE text = 'compute' OR textId IN (SELECT id FROM StringIds WHERE value = 'compute');
INSERT INTO NVTX_EVENTS (start, eventType, category, domainId, text, globalTid)
  SELECT 0, 33, 7, 0, 'streaming', min(globalTid) FROM NVTX_EVENTS UNION SELECT 0, 75, NULL, 5, 'mylib', min(globalTid) FROM NVTX_EVENTS;
