"""What a row of the catalogue says of a system."""
from dataclasses import dataclass, field

import conditions


@dataclass(frozen=True)
class End:
    """How a program that survives its peer ends."""
    says: str        # a regular expression of its output
    status: int = 1


@dataclass(frozen=True)
class Killed:
    """What is to come of the crash of a node in mid run."""
    ends: dict             # of the programs on the nodes that survive: {name: End}
    within_s: float        # after the crash: the program's own bound
    bound: str             # where that bound comes from, for the page
    file: str = ""         # the scenario whose programs run long enough to be killed, where the row's own is too short
    node: str = "n1"
    link: str = "n1-s1"    # the node crashes when this cable has carried so many frames
    carried: int = 1000
    cut: str = ""          # packets of the survivors that are lost from then on, and the node crashes at the first: then
                           # they have a request under way. Programs that take turns may otherwise wait for an answer to
                           # an acknowledged message, for ever, on hardware too
    cut_at: str = "n2->s1"


@dataclass(frozen=True)
class Deviation:
    """A condition under which the program itself fails, and why. Such a run must fail as it says, or the row is wrong."""
    condition: str
    says: str   # a regular expression of the failure
    why: str


@dataclass(frozen=True)
class System:
    name: str            # of scenarios/systems/NAME.yaml
    title: str           # the program, as the page calls it
    packages: tuple      # the first one's version is the program's; all of them are in scripts/setup.sh, group systems
    exercises: str
    killed: Killed = None
    without: dict = field(default_factory=dict)   # {condition: why it has no run}
    deviations: tuple = ()
    build: tuple = ()    # the command that makes its program, from the top of the tree, where the distribution has none
    short: tuple = ()    # the conditions that belong to the short form
    leaves: tuple = ()   # files that the program leaves on the machine: taken away after a run
    sends: bool = True   # RoCE packets: a run without any has failed
    loss: str = conditions.LOSS   # another where the program cannot survive that, on hardware either
    loss_why: str = ""   # then: the reason, for the page
    flapping: str = ""   # the scenario that runs while the cable flaps, where the row's own cannot
    flaps: str = "n1-s1"
    carried: int = 500   # frames on that cable before it flaps
    verified: str = ""   # who compares the data: the program, a checker of ours, nobody (then why)

    def conditions(self):
        if not self.killed and "killed" not in self.without:
            raise ValueError(f"{self.name}: say what comes of a killed peer, or why there is no such run")
        if (self.loss != conditions.LOSS) != bool(self.loss_why):
            raise ValueError(f"{self.name}: a loss of its own has a reason")
        return [one for one in conditions.CONDITIONS if one not in self.without]

    def deviation(self, condition):
        return next((one for one in self.deviations if one.condition == condition), None)
