"""The database as pages: their contents, their templates, and the folder of plain files.

`contents` reads the contents of the pages of a dataset, by the calls of the commands. `site` says which
pages there are and what each template gets, `rendering` turns them into HTML, and `folder` writes
the files. No page computes a number.
"""
