"""What each role is told and can use up, on a server with teams of several people."""
