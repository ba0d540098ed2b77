"""What is done to environments, each story once a run; the tests look at what the stories saw.

Most of a story is waiting (the provider waits half a minute for each queue attribute), so they run side by side.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import product

from lab import Environment, Lab, Refused
from readback import Account

APPS = ("producer", "consumer", "payments")
COMBINATIONS = list(product((False, True), repeat=3))


def flags(*enabled: str) -> dict[str, bool]:
    return {f"enable_{app}": app in enabled for app in APPS}


def combination_id(combination: tuple[bool, bool, bool]) -> str:
    """producer-consumer for (True, True, False); all-pooled where nothing is dedicated."""
    return "-".join(app for app, on in zip(APPS, combination) if on) or "all-pooled"


def combined(lab: Lab, combination: tuple[bool, bool, bool]) -> Environment:
    """The tenant t-producer-consumer for (True, True, False)."""
    return lab.environment(f"t-{combination_id(combination)}", **{f"enable_{app}": on for app, on in zip(APPS, combination)})


@dataclass
class Life:
    """An environment made, left alone, and taken away."""

    closing: str
    resources: list[str]
    outputs: dict
    account: dict
    second_apply: str
    destroyed: str
    left: dict


def live(lab: Lab, environment: Environment) -> Life:
    account = Account(lab.aws, environment.tenant_id, environment.region)
    closing = environment.apply()
    return Life(
        closing=closing,
        resources=environment.resources(),
        outputs=environment.outputs(),
        account=account.everything(),
        second_apply=environment.apply(),
        destroyed=environment.destroy(),
        left=account.everything(),
    )


def refusal(action) -> str:
    """The words with which Terraform refused, on one line; it is an error of the story if it did not."""
    try:
        action()
    except Refused as refused:
        return " ".join(str(refused).replace("│", " ").split())
    raise AssertionError("Terraform did not refuse")


@dataclass
class Stories:
    lab: Lab
    workers: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(max_workers=10))
    told: dict[str, Future] = field(default_factory=dict)

    def tell(self, name: str, story, *arguments) -> None:
        self.told[name] = self.workers.submit(story, *arguments)

    def hear(self, name: str):
        """What the story saw; its exception if it failed."""
        return self.told[name].result()

    def begin(self, only: set[str] | None = None) -> None:
        """Starts the stories (all, or those named): those that need no pool at once, the others when there is one."""
        import moves
        import places

        def tell_all(stories: dict) -> None:
            for name, story in stories.items():
                if only is None or name in only:
                    self.tell(name, story, self.lab)

        def combinations(pooled: bool) -> dict:
            return {
                combination_id(one): lambda lab, one=one: live(lab, combined(lab, one)) for one in COMBINATIONS if (one[:2] != (True, True)) == pooled
            }

        pool = self.lab.environment("pool-1", **flags(*APPS))
        self.tell("pool", pool.apply)
        tell_all(places.WITHOUT_POOL | combinations(pooled=False))
        self.pool_closing = self.hear("pool")
        self.pool_account = Account(self.lab.aws, "pool-1").everything()
        tell_all(moves.STORIES | places.WITH_POOL | combinations(pooled=True))

    def end(self) -> None:
        self.workers.shutdown(wait=True, cancel_futures=True)
