"""Formats of data files: one file each, which says how `read` recognises and reads it."""

from typing import TYPE_CHECKING

from localrank._base.lazy import on_use

if TYPE_CHECKING:
    from localrank.data.formats.base import Format as Format
    from localrank.data.formats.click_log import ClickLines as ClickLines
    from localrank.data.formats.click_log import ClickTables as ClickTables
    from localrank.data.formats.click_log import UserBehaviour as UserBehaviour
    from localrank.data.formats.feature_log import FeatureLogs as FeatureLogs
    from localrank.data.formats.letor import LetorText as LetorText
    from localrank.data.formats.partitions import PartitionFiles as PartitionFiles
    from localrank.data.formats.table import TableFiles as TableFiles
else:
    __getattr__, __dir__ = on_use(__name__)
