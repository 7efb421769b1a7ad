"""Work on a Dask cluster: the client in scope, its workers, and their tasks."""

from typing import TYPE_CHECKING

from localrank._base.lazy import on_use

if TYPE_CHECKING:
    from localrank._base.distributed.connection import connected as connected
    from localrank._base.distributed.scope import client_in_scope as client_in_scope
    from localrank._base.distributed.scope import in_task as in_task
    from localrank._base.distributed.tasks import finished_tasks as finished_tasks
    from localrank._base.distributed.workers import described_workers as described_workers
    from localrank._base.distributed.workers import peak_memory as peak_memory
else:
    __getattr__, __dir__ = on_use(__name__)
