-- The steps are bounded by marks instead of ranges.
UPDATE NVTX_EVENTS SET eventType = 34, end = NULL WHERE coalesce(text, (SELECT value FROM StringIds WHERE id = textId)) = 'step';
