"""InfiniBand's own managers and tools on an emulated subnet: opensm and infiniband-diags, unmodified (`verbena subnet`)."""
import os
import re
import subprocess
import tempfile

import harness

TOPOLOGY = """# two switches, two cables between them
Switch 8 "S1"  # "first switch"
[1] "H1"[1]
[2] "H2"[1]
[3] "S2"[3]
[5] "S2"[5]

Switch 8 "S2"
[1] "H3"[1]
[2] "H4"[1]

Hca 2 "H1"  # "host one"
[1] "S1"[1]
Hca 1 "H2"
[1] "S1"[2]
Hca 1 "H3"
[1] "S2"[1]
Hca 1 "H4"
[1] "S2"[2]
"""

# A manager that is up, for what follows.
MANAGED = """echo 'force_log_flush TRUE' > opensm.conf
opensm -F opensm.conf -f "$PWD/osm.log" > osm.out 2>&1 &
manager=$!
for try in $(seq 300); do grep -q 'SUBNET UP' osm.log 2> /dev/null && break; sleep 0.1; done
grep -q 'SUBNET UP' osm.log || { cat osm.log; exit 99; }
"""


class Place:
    """A folder with a topology, in which a script runs on the subnet."""

    def __init__(self, context, topology=TOPOLOGY):
        self.context, self.topology = context, topology

    def run(self, script, *options, timeout=120):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "a.net"), "w", encoding="utf-8") as file:
                file.write(self.topology)
            environment = dict(os.environ, OSM_TMP_DIR=folder, OSM_CACHE_DIR=folder, TMPDIR=folder)
            done = subprocess.run([self.context.verbena, "subnet", *options, "a.net", "--", "sh", "-c", script], cwd=folder, env=environment,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout,
                                  check=False, preexec_fn=harness.die_with_parent)
            left = [name for name in os.listdir(folder) if name.startswith("verbena-subnet-")]
            if left:
                raise harness.Failure(f"left behind: {left}\n{done.stdout}")
            return done.returncode, done.stdout


def expect(said, *patterns):
    status, text = said
    missing = [pattern for pattern in patterns if not re.search(pattern, text, re.M)]
    if missing or status != 0:
        raise harness.Failure(f"status {status}, missing {missing} in\n{text}")


def before_a_manager(context):
    expect(Place(context).run("ibstat && smpquery -D nodeinfo 0,1 && ibnetdiscover"),
           r"^CA 'verbena0'", r"State: Initializing", r"Base lid: 0$", r"NodeType:\.+Switch", r'^Switch\t8 "S-\w+"\s+# "first switch"',
           r'^Ca\t2 "H-\w+"\s+# "host one"')


def managed(context):
    expect(Place(context).run(MANAGED + """ibstat; sminfo; iblinkinfo; ibtracert 1 "$(ibaddr -L | sed -n 's/.*LID start \\(0x[0-9a-f]*\\).*/\\1/p')"
        kill $manager; wait $manager"""),
           r"State: Active", r"Base lid: 1$", r"SM lid: 1$", r"SMINFO_MASTER", r"4X +10\.0 Gbps Active/ +LinkUp", r'"first switch"')


def tools(context):
    expect(Place(context).run(MANAGED + """last=$(ibnetdiscover -p | sed -n "s/^CA *\\([0-9]*\\) .*'H4'.*/\\1/p" | head -1)
        ibtracert 1 $last; saquery NR; saquery -p --src-to-dst 1:$last; perfquery $last 1; smpquery portinfo $last 1; smpquery pkeys $last 1
        ibportstate $last 1 query; ibqueryerrors; kill $manager; wait $manager"""),
           r'^To ca .* "H4"', r"NodeDescription\.+H4", r"dlid\.+\d", r"PortXmitPkts:\.+[1-9]", r"LinkState:\.+Active", r"0xffff",
           r"PhysLinkState:\.+LinkUp", r"LinkDownedCounter:\.+0$", r" 0 ports have errors")


def pings(context):
    """Between two adapters: the other one's folder stands beside."""
    expect(Place(context).run(MANAGED + """other=$(ls "${VERBENA_SUBNET%/*}" | tail -1)
        VERBENA_SUBNET="${VERBENA_SUBNET%/*}/$other" ibping -S & server=$!
        lid=$(printf %d "$(cat "${VERBENA_SUBNET%/*}/$other/sys/class/infiniband/verbena0/ports/1/lid")")
        for try in $(seq 50); do ibping -c 1 $lid > ping.out 2>&1 && break; sleep 0.1; done
        ibping -c 3 $lid; kill $server; kill $manager; wait $manager"""), r"3 packets transmitted, 3 received, 0% packet loss")


def nobodys_lid(context):
    status, text = Place(context).run(MANAGED + "smpquery -t 100 nodeinfo 77; status=$?; kill $manager; wait $manager; exit $status")
    # Whether its own patience ends first or the device's answer comes, the tool says it in other words.
    if status in (0, 99) or not re.search(r"timed out|failed; dport \(Lid 77\)", text):
        raise harness.Failure(f"status {status}\n{text}")


def killed_manager(context):
    """Its registrations end with it, and the next one finds the subnet."""
    expect(Place(context).run(MANAGED + "kill -9 $manager; wait $manager; rm osm.log\n" + MANAGED + "sminfo; kill $manager; wait $manager"),
           r"SMINFO_MASTER")


def cable(context):
    """A port that is disabled is down at both ends; the manager hears of it, and of its coming back."""
    expect(Place(context).run(MANAGED + """s1=$(ibnetdiscover -p | sed -n "s/^SW *\\([0-9]*\\) .*first switch.*/\\1/p" | head -1)
        ibportstate $s1 3 disable; ibportstate $s1 3 query; ibtracert 1 1; perfquery $s1 3
        ibportstate $s1 3 enable
        for try in $(seq 100); do smpquery portinfo $s1 3 | grep -q 'LinkState:.*Active' && break; sleep 0.1; done
        smpquery portinfo $s1 3; kill $manager; wait $manager; cat osm.log"""),
           r"PhysLinkState:\.+Disabled", r"LinkDownedCounter:\.+[1-9]", r"LinkState:\.+Active", r"Link state change")


def wrong_files(context):
    for topology, line in (("Switch 8\n", r"^verbena subnet: a\.net:1:9: the node has no id"),
                           ('Hca 1 "a"\n[1] "b"[1]\n', r'^verbena subnet: a\.net:2:6: there is no node "b"'),
                           ('Hca 1 "a"\nHca 1 "b"\n[1] "a"[1] # 4xFOO\n', r"^verbena subnet: a\.net:3:14: '4xFOO': an unknown rate"),
                           ("# none\n", r"^verbena subnet: a\.net: no node: write"),
                           ('Switch 1 "s"\n', r"^verbena subnet: the topology has no adapter")):
        status, text = Place(context, topology).run("true")
        if status != 2 or not re.search(line, text) or len(text.splitlines()) != 1:
            raise harness.Failure(f"{topology!r}: status {status}\n{text}")
    done = subprocess.run([context.verbena, "subnet", "/", "--", "true"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=60, check=False)
    if (done.returncode, done.stdout) != (2, "verbena subnet: /: cannot be read: not a file?\n"):
        raise harness.Failure(f"a folder as FILE: status {done.returncode}\n{done.stdout}")
    status, text = Place(context).run("true", "--host", "nobody")
    if status != 2 or "no node of the file has this id" not in text:
        raise harness.Failure(f"--host nobody: status {status}\n{text}")
    status, text = Place(context).run("exit 7")
    if status != 7:
        raise harness.Failure(f"the program's status 7 became {status}\n{text}")


BAD_POINTERS = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
device = os.open("/dev/infiniband/umad0", os.O_RDWR)
REGISTER, UNREGISTER = 0xc01c1b01, 0x40041b02
for pointer in (0, 8):
    for request in (REGISTER, UNREGISTER):
        print("bad", libc.ioctl(device, request, ctypes.c_void_p(pointer)), ctypes.get_errno())
wanted = ctypes.create_string_buffer(28)
wanted[21:23] = bytes((7, 1))  # a class and its version
print("good", libc.ioctl(device, REGISTER, wanted))
"""


def bad_pointers(context):
    """EFAULT, as of the kernel's device, which goes on."""
    expect(Place(context).run(f"python3 -c '{BAD_POINTERS}'"), r"(bad -1 14\n){4}good 0")


def two_managers(context):
    """Of the same priority: one stands by, and takes over when the master is killed."""
    expect(Place(context).run(MANAGED + """other=$(ls "${VERBENA_SUBNET%/*}" | tail -1)
        printf 'sminfo_polling_timeout 500\\npolling_retry_number 2\\n' >> opensm.conf
        VERBENA_SUBNET="${VERBENA_SUBNET%/*}/$other" opensm -F opensm.conf -f "$PWD/second.log" > second.out 2>&1 & second=$!
        for try in $(seq 300); do grep -q 'Entering STANDBY state' second.log 2> /dev/null && break; sleep 0.1; done
        sminfo; kill -9 $manager; wait $manager
        for try in $(seq 300); do grep -q 'SUBNET UP' second.log 2> /dev/null && break; sleep 0.1; done
        sminfo; cat second.log; kill $second; wait $second"""),
           r"sm lid 1 .*SMINFO_MASTER[\s\S]*sm lid [2-9] .*SMINFO_MASTER", r"Entering STANDBY state", r"Entering MASTER state")


def link(kind, ports, name, ends):
    return "\n".join([f'{kind} {ports} "{name}"', *(f'[{port}] "{peer}"[{at}]' for port, peer, at in ends)])


def fat_tree(pods, width):
    """Three levels: pods of leaves and aggregations, and cores for each row of aggregations; `width` of each."""
    nodes = []
    for pod in range(pods):
        for leaf in range(width):
            nodes += [link("Switch", 2 * width, f"L{pod}-{leaf}", [(1 + i, f"H{pod}-{leaf}-{i}", 1) for i in range(width)] +
                           [(1 + width + row, f"A{pod}-{row}", 1 + leaf) for row in range(width)])]
            nodes += [f'Hca 1 "H{pod}-{leaf}-{i}"' for i in range(width)]
        nodes += [link("Switch", 2 * width, f"A{pod}-{row}", [(1 + width + core, f"C{row}-{core}", 1 + pod) for core in range(width)])
                  for row in range(width)]
    nodes += [f'Switch {pods} "C{row}-{core}"' for row in range(width) for core in range(width)]
    return "\n".join(nodes) + "\n"


def torus(size=4):
    """Of two dimensions, with an adapter at each switch, and what torus-2QoS is told of it."""
    def guid(x, y):
        return 0x1000 + 16 * (x * size + y)
    nodes = []
    for x in range(size):
        for y in range(size):
            nodes += [f"switchguid={guid(x, y):#x}", link("Switch", 5, f"S{x}{y}", [
                (1, f"S{(x + 1) % size}{y}", 2), (3, f"S{x}{(y + 1) % size}", 4), (5, f"H{x}{y}", 1)]), f'Hca 1 "H{x}{y}"']
    told = [f"torus {size} {size} 1", f"xp_link {guid(0, 0):#x} {guid(1, 0):#x}", f"xm_link {guid(0, 0):#x} {guid(size - 1, 0):#x}",
            f"yp_link {guid(0, 0):#x} {guid(0, 1):#x}", f"ym_link {guid(0, 0):#x} {guid(0, size - 1):#x}"]
    return "\n".join(nodes) + "\n", "\n".join(told)


def routed(context, engine, topology, *options, prepare=""):
    """The engine's tables are those of the switches; opensm would else fall back to another one."""
    script = prepare + MANAGED.replace("opensm -F", f"opensm -R {engine} {' '.join(options)} -F") + """cat osm.log; kill $manager; wait $manager"""
    expect(Place(context, topology).run(script, timeout=300), rf"{engine} tables configured on all switches", r"SUBNET UP")


def torus_routed(context):
    topology, told = torus()
    routed(context, "torus-2QoS", topology, "-Q", "--torus_config", '"$PWD/torus.conf"', prepare=f"cat > torus.conf << 'END'\n{told}\nEND\n")


def signals(context):
    status, text = Place(context).run("trap 'kill $!; exit 9' TERM; sleep 30 & kill -TERM $PPID; wait")
    if status != 9:
        raise harness.Failure(f"the program did not get the signal: status {status}\n{text}")


def tests(context):
    return [("without a manager, ports wait", lambda: before_a_manager(context)),
            ("opensm brings the subnet up", lambda: managed(context)),
            ("the tools tell the truth about it", lambda: tools(context)),
            ("ibping between two adapters", lambda: pings(context)),
            ("a LID that nobody has times out", lambda: nobodys_lid(context)),
            ("a manager that is killed leaves nothing", lambda: killed_manager(context)),
            ("a bad pointer is EFAULT", lambda: bad_pointers(context)),
            ("of two managers one stands by", lambda: two_managers(context)),
            ("minhop routes 648 adapters", lambda: routed(context, "minhop", fat_tree(8, 9))),
            *((f"{engine} routes 36 adapters", lambda engine=engine: routed(context, engine, fat_tree(4, 3)))
              for engine in ("updn", "ftree", "dfsssp")),
            ("torus-2QoS routes a torus", lambda: torus_routed(context)),
            ("a cable goes and comes back", lambda: cable(context)),
            ("a signal goes to the program", lambda: signals(context)),
            ("wrong files and options are refused", lambda: wrong_files(context))]
