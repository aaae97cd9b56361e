UPDATE CUPTI_ACTIVITY_KIND_GRAPH_TRACE SET end = start + (end - start) * 105 / 100;
