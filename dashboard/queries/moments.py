"""The moment a statement is about: a time, or a parameter of a statement that is made once and asked many times.

To make a statement takes SQLAlchemy up to ten times as long as to ask one that is made.
"""

from datetime import datetime

from sqlalchemy import BindParameter, bindparam

from dashboard.db import UTCDateTime

Moment = datetime | BindParameter[datetime]
NOW: BindParameter[datetime] = bindparam("now", type_=UTCDateTime())
