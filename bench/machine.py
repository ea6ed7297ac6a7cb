"""What tells this machine from another: its processor, its kernel, and how the two cores stand to each other.

Owns: reading what the kernel says, running machine_probe for what has to be measured, and the header of the table. A
machine is a flat dict, as it is kept with the results (results.py). The speed of the CRC and of the way between the
cores decides more of the table than anything else: two tables without them cannot be compared.
"""
import os
import platform
import re

CORES = (0, 1)
FLAGS = {"x86_64": ("sse4_2", "pclmulqdq", "avx2", "vpclmulqdq", "avx512f", "avx512bw", "avx512vl", "erms", "fsrm"),
         "aarch64": ("crc32", "pmull")}
SYSFS = "/sys/devices/system/cpu"
SHARES_CORE_BELOW = 0.8   # of its speed, which a core keeps beside the other: threads of one core keep a half to two thirds
SHARES_CACHE_BELOW = 0.8  # of memory's time, in which a line comes that the other core has written
MOVED = 1.5               # so many times nearer or further than before, the cores are not where they were
LINE = "line_one_way_ns"
LOAD_QUIET = 1.5          # of a machine that had something else to do than to be measured


def read(path, default=""):
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return default


def cpu_of(cpuinfo, arch):
    """(model, flags) from /proc/cpuinfo, which has other words on arm64."""
    words = {}
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        words.setdefault(name.strip(), value.strip())
    if arch == "aarch64":
        model = words.get("model name") or "implementer {} part {} variant {}".format(
            *(words.get("CPU " + word, "?") for word in ("implementer", "part", "variant")))
        return model, words.get("Features", "").split()
    numbers = [words.get(word, "?") for word in ("cpu family", "model", "stepping")]
    return "{} (family {} model {} stepping {})".format(words.get("model name", "?"), *numbers), words.get("flags", "").split()


def cores_of(text):
    """The cores of a list as sysfs writes it: 0-2,8."""
    found = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def are_siblings(sysfs=SYSFS):
    """Whether the kernel takes the two for threads of one core; None: it does not say."""
    text = read(f"{sysfs}/cpu{CORES[0]}/topology/thread_siblings_list")
    return CORES[1] in cores_of(text) if text else None


def shared_caches(sysfs=SYSFS):
    """Which caches the kernel takes to be of both cores, as ["L3"]; None: it does not say."""
    folder = f"{sysfs}/cpu{CORES[0]}/cache"
    try:
        indexes = sorted(name for name in os.listdir(folder) if name.startswith("index"))
    except OSError:
        return None
    return [f"L{read(f'{folder}/{index}/level')}" for index in indexes
            if read(f"{folder}/{index}/type") != "Instruction"
            and CORES[1] in cores_of(read(f"{folder}/{index}/shared_cpu_list"))]


def hypervisor(flags):
    """Its name or "yes", or an empty text."""
    vendor = read("/sys/devices/virtual/dmi/id/sys_vendor")
    kind = read("/sys/hypervisor/type")
    virtual = re.search(r"QEMU|KVM|VMware|Xen|innotek|Amazon EC2|Google|Microsoft|Alibaba|OpenStack", vendor)
    if "hypervisor" in flags or kind or (platform.machine() == "aarch64" and virtual):
        return kind or vendor or "yes"
    return ""


def probe_figures(text):
    """Lines `name value` of machine_probe; a value is a number or a word."""
    figures = {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        try:
            figures[name] = float(value)
        except ValueError:
            figures[name] = value
    return figures


def facts(probe_text, ring_bytes_per_second):
    """The machine. `probe_text` is what machine_probe prints."""
    arch = platform.machine()
    model, flags = cpu_of(read("/proc/cpuinfo"), arch)
    known = FLAGS.get(arch, ())
    return {"cpu": model, "arch": arch, "flags": [flag for flag in known if flag in flags],
            "flags_missing": [flag for flag in known if flag not in flags], "cores": os.cpu_count(),
            "kernel": platform.release(), "hypervisor": hypervisor(flags), "load": round(os.getloadavg()[0], 2),
            "siblings": are_siblings(), "shared_caches": shared_caches(),
            "ring_gbytes": ring_bytes_per_second, **probe_figures(probe_text)}


def crc_text(machine, name, size):
    nanoseconds = machine[f"crc_{size}_ns"]
    return f"{name} {nanoseconds:.1f} ns, {size / nanoseconds:.1f} GB/s"


def describe(machine):
    """The lines of the table's header."""
    siblings = {True: "siblings", False: "not siblings", None: "nothing"}[machine["siblings"]]
    caches = "nothing" if machine["shared_caches"] is None else "+".join(machine["shared_caches"]) or "none"
    own = "share a core" if machine["speed_beside"] < SHARES_CORE_BELOW else "are two cores"
    near = machine["line_from_other_core_ns"] < SHARES_CACHE_BELOW * machine["line_from_memory_ns"]
    flags = " ".join(machine["flags"]) or "none of those that matter"
    missing = f" (not: {' '.join(machine['flags_missing'])})" if machine["flags_missing"] else ""
    sizes = (("64 B", 64), ("1 KiB", 1024), ("4 KiB", 4096))
    copy = machine["copy_4096_ns"]
    return [
        f"machine  {machine['cpu']}, {machine['arch']}, {machine['cores']} cores",
        f"flags    {flags}{missing}",
        f"system   Linux {machine['kernel']}, hypervisor: {machine['hypervisor'] or 'none'}, load {machine['load']:.2f}",
        f"cores    {CORES[0]} and {CORES[1]} {own}: each keeps {machine['speed_beside']:.2f} of its speed while the other "
        f"computes; sysfs: {siblings}",
        f"         they {'share a' if near else 'share no'} cache: a line that the other has written takes "
        f"{machine['line_from_other_core_ns']:.0f} ns, one from memory {machine['line_from_memory_ns']:.0f} ns; sysfs: {caches}",
        f"         a cache line one way, in a ping-pong: {machine[LINE]:.0f} ns",
        f"CRC      {machine['crc_kernel']}: " + "; ".join(crc_text(machine, *size) for size in sizes),
        f"copy     4 KiB within a core's caches {copy:.1f} ns, {4096 / copy:.1f} GB/s; between the cores, a ring with two "
        f"copies: {machine['ring_gbytes']:.1f} GB/s",
    ]


def moved(before, after):
    """A line of text if the cores are not as near each other as they were, else None: figures of ns."""
    if max(before, after) < MOVED * min(before, after):
        return None
    return (f"bench: a cache line took {before:.0f} ns one way before and {after:.0f} ns after: the cores moved, or "
            "something else ran")


def differences(new, old):
    """What of two machines makes their figures differ, a line of text each."""
    found = []
    for key, name in (("cpu", "CPU model"), ("crc_kernel", "CRC kernel"), ("flags", "flags"), ("cores", "number of cores"),
                      ("hypervisor", "hypervisor"), ("siblings", "threads of one core (sysfs)"),
                      ("shared_caches", "shared caches (sysfs)")):
        if new.get(key) != old.get(key):
            found.append(f"other {name}: {text(new.get(key))}, then {text(old.get(key))}")
    if LINE in new and LINE in old and max(new[LINE], old[LINE]) >= MOVED * min(new[LINE], old[LINE]):
        found.append(f"a cache line takes {new[LINE]:.0f} ns one way, then {old[LINE]:.0f} ns")
    if max(new.get("load", 0), old.get("load", 0)) > LOAD_QUIET:
        found.append(f"something else ran: load {new.get('load')}, then {old.get('load')}")
    return found


def text(value):
    if isinstance(value, list):
        return " ".join(value) or "none"
    return "not known" if value is None else str(value)
