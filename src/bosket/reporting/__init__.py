"""Pictures, the HTML report, and results in files.

Nothing is imported here, so that the command line can use ``reporting.text`` without the drawing library:
``comparison`` sets estimates beside the truth, ``pictures`` draws, ``page`` holds blocks of HTML, ``study`` the pages;
``export`` writes files, ``pmml`` those of the Data Mining Group, ``arules`` names columns as R does.
"""
