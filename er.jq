.findings[0].name | error
