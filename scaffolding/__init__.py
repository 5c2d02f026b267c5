"""Makes the folders of a new adapter, and the lists of packages in the pages."""
