"""The one program of Corral that becomes other users. It imports nothing else of Corral, and nobody imports it:
`corral host setup` copies the file to where only root can write, and sudo runs that copy.
"""
