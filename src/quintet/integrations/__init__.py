"""quintet inside the tools people already use; each module imports its tool only when it is used."""
