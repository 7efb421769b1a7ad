"""Formats of data files: one file each, which says how `read` recognises and reads it."""

from typing import TYPE_CHECKING

from localrank._base.lazy import on_use

if TYPE_CHECKING:
    from localrank.data.formats.base import Format as Format
    from localrank.data.formats.feature_log import FeatureLogs as FeatureLogs
    from localrank.data.formats.letor import LetorText as LetorText
    from localrank.data.formats.partitions import PartitionFiles as PartitionFiles
    from localrank.data.formats.table import TableFiles as TableFiles
else:
    __getattr__, __dir__ = on_use(__name__)
