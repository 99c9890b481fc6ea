"""Settings of a controller: declaration, values for one robot, and node parameters. Start with settings.py."""
