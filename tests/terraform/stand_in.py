"""moto_server with the habits of SQS that the module meets on AWS and that moto lacks.

- RedriveAllowPolicy of a queue is kept and given back (moto drops it, and the provider waits for it).
- A redrive policy comes back as it was sent (moto adds spaces, in which the provider sees a change).
- An attribute set to the empty string is gone; one that is not mentioned stays (moto forgets the policy).
- A deleted queue's name is refused for a while, as SQS does for a minute.
- ListQueues matches a prefix as text.

Usage: stand_in.py PORT SECONDS   (SECONDS: how long a deleted queue's name stays refused)
Each refusal is a line on standard output: `refused NAME`.
"""

import json
import os
import sys
import time

from moto.server import main
from moto.sqs import models
from moto.sqs.exceptions import SQSException


class QueueDeletedRecently(SQSException):
    def __init__(self, seconds: float) -> None:
        super().__init__(
            "AWS.SimpleQueueService.QueueDeletedRecently",
            f"You must wait {seconds:.0f} seconds after deleting a queue before you can create another with the same name.",
        )


def teach(refuse_seconds: float) -> None:
    """Adds the missing behaviour to moto's classes in this process."""
    backend = models.SQSBackend
    deleted_at: dict[tuple[str, str, str], float] = {}
    create, delete, listed = backend.create_queue, backend.delete_queue, backend.list_queues

    def create_queue(self, name, tags=None, **attributes):
        since = time.monotonic() - deleted_at.get((self.account_id, self.region_name, name), -1e9)
        if since < refuse_seconds:
            print(f"refused {name}", flush=True)
            raise QueueDeletedRecently(refuse_seconds)
        return create(self, name, tags, **attributes)

    def delete_queue(self, queue_name):
        delete(self, queue_name)
        deleted_at[(self.account_id, self.region_name, queue_name)] = time.monotonic()

    def list_queues(self, queue_name_prefix):
        return [queue for queue in listed(self, "") if queue.name.startswith(queue_name_prefix or "")]

    queue = models.Queue
    set_attributes, attributes_of = queue._set_attributes, queue.attributes.fget

    def set_mentioned(self, attributes, now=None):
        set_attributes(self, {"Policy": getattr(self, "policy", None), **attributes}, now)

    def attributes_present(self):
        present = {name: value for name, value in attributes_of(self).items() if value not in (None, "")}
        if "RedrivePolicy" in present:
            present["RedrivePolicy"] = json.dumps(json.loads(present["RedrivePolicy"]), separators=(",", ":"))
        return present

    queue._set_attributes, queue.attributes = set_mentioned, property(attributes_present)
    queue.BASE_ATTRIBUTES = [*queue.BASE_ATTRIBUTES, "RedriveAllowPolicy"]
    queue.redrive_allow_policy = None
    backend.create_queue, backend.delete_queue, backend.list_queues = create_queue, delete_queue, list_queues


if __name__ == "__main__":
    port, seconds = sys.argv[1:]
    os.environ.setdefault("MOTO_PORT", port)
    teach(float(seconds))
    main(["-H", "127.0.0.1", "-p", port])
