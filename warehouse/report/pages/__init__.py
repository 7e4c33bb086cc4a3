"""The database as pages: what they show, their templates, and the folder of plain files.

`contents` reads what the pages of a dataset show, by the calls of the commands. `site` says which
pages there are and what each template gets, `rendering` turns them into HTML, and `folder` writes
the files. No page computes a number.
"""
