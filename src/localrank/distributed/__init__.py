"""Work on a Dask cluster: the client in scope, its workers, and their tasks."""

from typing import TYPE_CHECKING

from localrank.exports import on_use

if TYPE_CHECKING:
    from localrank.distributed.connection import connected as connected
    from localrank.distributed.scope import client_in_scope as client_in_scope
    from localrank.distributed.scope import in_task as in_task
    from localrank.distributed.tasks import finished_tasks as finished_tasks
    from localrank.distributed.workers import described_workers as described_workers
    from localrank.distributed.workers import peak_memory as peak_memory
else:
    __getattr__, __dir__ = on_use(__name__)
