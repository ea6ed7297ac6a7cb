"""Programs on a machine that is asked for many times its cores: a thread that waits for its turn loses nothing and tells nobody of losses.

Beside each run spin eight processes in sessions of their own, so that the scheduler takes them for eight users.
"""
import contextlib
import os

import harness
import network
import served

SPINNERS = 8
ROUNDS = 1000
PINGPONG = ["ibv_rc_pingpong", "-g", "0", "-p", "{port}", "-n", str(ROUNDS), "-s", "4096"]
# Without loss a timer runs out only where the other end does not come to its turn for all of it, 67 ms. It did so 157 times in this test
# while it still ran out over answers that waited and over requests that had not left.
TIMEOUTS_MAX = ROUNDS // 12


@contextlib.contextmanager
def spinners():
    programs = [harness.Program(["sh", "-c", "while :; do :; done"], "spinner") for _ in range(SPINNERS)]
    try:
        yield
    finally:
        for program in programs:
            program.close()


def require_few_timeouts(*programs):
    for program in programs:
        timeouts = program.counters().get("local_ack_timeout_err", 0)
        if timeouts > TIMEOUTS_MAX:
            raise harness.Failure(f"{timeouts} timeouts in {ROUNDS} rounds without loss\n{program.describe()}")


def plays(fabric):
    with spinners():
        return harness.pair(fabric, PINGPONG, PINGPONG + ["{server}"], stats=True, timeout=200)


def plays_on_raw(context):
    with network.Network(context) as fabric:
        with spinners():
            programs = network.pair(fabric, PINGPONG, {"stats": True}, {"stats": True}, timeout=200)
        require_few_timeouts(*programs)


def tests(context):
    if context.link == "raw":
        if os.geteuid() != 0 and (reason := network.may_not(context)):
            return [(f"skipped: {reason}", lambda: None)]
        return [("a ping-pong among eight that spin", lambda: plays_on_raw(context))]

    def direct():
        with context.fabric() as fabric:
            pair = plays(fabric)
            require_few_timeouts(pair.server, pair.client)

    # The network waits for its turn as well there: no timer runs out over what it has in hand.
    def through_a_fabric_process():
        with served.Served(context) as fabric:
            pair = plays(fabric)
            require_few_timeouts(pair.server, pair.client)

    found = [("a ping-pong among eight that spin", direct)]
    if context.link == "shm":
        found.append(("the same through a fabric process", through_a_fabric_process))
    return found
