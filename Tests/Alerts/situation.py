"""What a situation is, and the steps that most of them have."""

import dataclasses
import typing

SITUATIONS = []


@dataclasses.dataclass
class Situation:
    name: str
    make: typing.Callable
    # The alert that fires; None: no alert does.
    fires: typing.Optional[str]
    # Other alerts that fire because of the first one, with the reason.
    implies: dict
    # Whether what happened between the last two scrapes happens again in each further minute.
    goes_on: bool
    # The minutes from the last scrape to the check.
    minutes: int
    # Whether it mostly waits, so that others are made meanwhile.
    is_long: bool

    @property
    def alerts(self):
        return {self.fires, *self.implies} - {None}


def situation(name, fires=None, *, implies=None, goes_on=True, minutes=35, is_long=False):
    """Adds a situation. Unless given, its minutes are more than a window of 15 minutes and a "for" of 15 minutes."""

    def add(make):
        SITUATIONS.append(Situation(name, make, fires, implies or {}, goes_on, minutes, is_long))
        return make

    return add


def scrape_traffic(lab, **counts):
    """Scrapes three times, each time after notifications that have their final answers."""
    for _ in range(3):
        lab.traffic(**counts)
        lab.scrape()


def scrape_waiting(lab, **counts):
    """Scrapes three times, each time after notifications that may wait."""
    for _ in range(3):
        lab.send(**counts or {"good": 20})
        lab.wait(1)
        lab.scrape()


def recover(lab):
    """Scrapes after the trouble."""
    lab.end()
    lab.settle()
    lab.traffic()
    lab.scrape()
