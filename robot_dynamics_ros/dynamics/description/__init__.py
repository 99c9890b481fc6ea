"""Robot descriptions: URDF, dynamics file and DH table as checked plain data. Start with urdf.py."""
