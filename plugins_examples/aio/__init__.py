"""A device plugin on asyncio. See README.md beside this file."""
