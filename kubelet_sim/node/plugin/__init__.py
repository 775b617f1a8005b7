"""A plugin's process: started, isolated, listened to, ended."""
