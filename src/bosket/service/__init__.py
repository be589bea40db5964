"""The collector: an HTTP service that takes reports, loses none that it acknowledged, and shows what they say.

It needs the extra ``serve`` (FastAPI, uvicorn, SQLAlchemy); ``postgres`` adds the driver of PostgreSQL.
"""
