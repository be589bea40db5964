"""Pictures and the HTML report.

Nothing is imported here, so that the command line can use ``reporting.text`` without the drawing library:
``comparison`` sets estimates beside the truth, ``pictures`` draws, ``page`` holds blocks of HTML, ``study`` the pages.
"""
