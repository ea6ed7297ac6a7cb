"""Programs on a machine that is asked for many times its cores: a thread that waits for its turn loses nothing and tells nobody of losses.

Beside each run spin eight processes in sessions of their own, so that the scheduler takes them for eight users.
"""
import contextlib
import os
import resource

import harness
import network
import served

SPINNERS = 8
ROUNDS = 1000
PINGPONG = ["ibv_rc_pingpong", "-g", "0", "-p", "{port}", "-n", str(ROUNDS), "-s", "4096"]
# Without loss a timer runs out only where the other end does not come to its turn for all of it, 67 ms. It did so 157 times in this test
# while it still ran out over answers that waited and over requests that had not left.
TIMEOUTS_MAX = ROUNDS // 12
# Over shared memory each end knows whether the other one has answered (PeerAnswers): none is over what waits for its turn.
TIMEOUTS_MAX_OVER_SHM = 0
WRITES = ["ib_write_bw", "-F", "-b", "-q", "8", "-n", "500", "-s", "65536", "-p", "{port}", "-u", "14"]
TURNS = 20000
LATENCY = ["ib_send_lat", "-F", "-p", "{port}", "-u", "16", "-n", str(TURNS), "-s", "8"]
# Of both ends, the start of the programs included, 0.8 s of them. An end that spins on the core of the other one takes its time slice for
# each answer: 3 ms or more, whatever else the machine does.
CPU_S_OF_A_TURN_MAX = 0.0005


@contextlib.contextmanager
def spinners(count=SPINNERS):
    programs = [harness.Program(["sh", "-c", "while :; do :; done"], "spinner") for _ in range(count)]
    try:
        yield
    finally:
        for program in programs:
            program.close()


def require_few_timeouts(*programs, most=TIMEOUTS_MAX):
    for program in programs:
        timeouts = program.counters().get("local_ack_timeout_err", 0)
        if timeouts > most:
            raise harness.Failure(f"{timeouts} timeouts without loss\n{program.describe()}")


def plays(fabric, argv=PINGPONG):
    with spinners():
        return harness.pair(fabric, argv, argv + ["{server}"], stats=True, timeout=200)


def cpu_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def takes_turns_on_one_core(context, beside=contextlib.nullcontext):
    """Both ends poll on the only core that they have."""
    cores = os.sched_getaffinity(0)
    with context.fabric() as fabric:
        os.sched_setaffinity(0, {min(cores)})
        try:
            before = cpu_s()
            with beside():
                harness.pair(fabric, LATENCY, LATENCY + ["{server}"], timeout=200)
                took = (cpu_s() - before) / TURNS
        finally:
            os.sched_setaffinity(0, cores)
    if took > CPU_S_OF_A_TURN_MAX:
        raise harness.Failure(f"a turn on one core takes {took * 1e6:.0f} us of processor time")


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

    most = TIMEOUTS_MAX_OVER_SHM if context.link == "shm" else TIMEOUTS_MAX

    def direct():
        with context.fabric() as fabric:
            pair = plays(fabric)
            require_few_timeouts(pair.server, pair.client, most=most)

    def writes():
        with context.fabric() as fabric:
            pair = plays(fabric, WRITES)
            require_few_timeouts(pair.server, pair.client, most=most)

    # The network waits for its turn as well there: no timer runs out over what it has in hand.
    def through_a_fabric_process():
        with served.Served(context) as fabric:
            pair = plays(fabric)
            require_few_timeouts(pair.server, pair.client)

    found = [("a ping-pong among eight that spin", direct),
             ("turns on one core", lambda: takes_turns_on_one_core(context)),
             ("turns on one core beside one that spins", lambda: takes_turns_on_one_core(context, lambda: spinners(1)))]
    if context.link == "shm":
        found.append(("writes both ways among eight that spin", writes))
        found.append(("the same through a fabric process", through_a_fabric_process))
    return found
