"""Jobs, the audit log and refused files: kept in a file on this machine."""
