"""The doors: command line, service, report. The only room that prints."""
