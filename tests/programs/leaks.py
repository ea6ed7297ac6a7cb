"""Objects that programs leave behind: `verbena exec --leaks` names each and who made it, and finds nothing where nothing is left."""
import pathlib
import re
import subprocess
import tempfile
import time

import harness
import rdma_cm
from harness import Failure

PINGPONG = ["ibv_rc_pingpong", "-g", "0", "-p", "{port}", "-n", "100"]
LEAKS = ["--leaks", "fail"]

# A function makes a CQ that nobody destroys; a static destructor destroys what else there is.
LEAKY = """
#include <infiniband/verbs.h>
#include <unistd.h>
#include <cstdlib>
struct Device {
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ~Device() { if (pd) ibv_dealloc_pd(pd); if (context) ibv_close_device(context); }
} device;
extern "C" __attribute__((noinline)) ibv_cq* make_a_queue() {
  ibv_cq* queue = ibv_create_cq(device.context, 4, nullptr, nullptr, 0);
  if (!queue) abort();
  return queue;
}
int main(int argc, char** argv) {
  ibv_device** list = ibv_get_device_list(nullptr);
  device.context = ibv_open_device(list[0]);
  device.pd = ibv_alloc_pd(device.context);
  ibv_free_device_list(list);
  ibv_cq* queue = make_a_queue();
  switch (argc > 1 ? argv[1][0] : 'l') {
    case 'c': ibv_destroy_cq(queue); return 0;
    case '_': _exit(0);
    case '5': return 5;
    case 'k': abort();
    default: return 0;
  }
}
"""


def build(folder):
    source, program = pathlib.Path(folder, "leaky.cc"), pathlib.Path(folder, "leaky")
    source.write_text(LEAKY)
    subprocess.run(["c++", "-rdynamic", "-o", program, source, "-libverbs"], check=True, timeout=60)
    return str(program)


def leaky(context):
    """Status, and what is said, by how the program ends."""
    ends = (("c", 0, r"has destroyed all that it made \(3 objects\)"),
            ("l", 3, r"has left 1 of 3 objects\n  CQ, made by\n    make_a_queue at leaky\+0x[0-9a-f]+\n    main at leaky"),
            ("_", 3, r"has left 3 of 3 objects\n  device, made by\n    main at leaky"),
            ("5", 5, r"has left 1 of 3 objects"),
            ("k", 134, r"were not judged"))
    with context.fabric() as fabric, tempfile.TemporaryDirectory() as folder:
        program = build(folder)
        for end, status, words in ends:
            ran = fabric.start(fabric.nodes[0], [program, end], extra=LEAKS)
            if ran.wait(time.monotonic() + 20) != status or not re.search(words, ran.err):
                raise Failure(f"not status {status} and '{words}'\n{ran.describe()}")


def nothing_judged(context):
    with context.fabric() as fabric:
        ran = fabric.start(fabric.nodes[0], ["true"], extra=LEAKS)
        if ran.wait(time.monotonic() + 20) != 3 or "were not judged" not in ran.err:
            raise Failure(f"a program without objects is not judged\n{ran.describe()}")


def clean(context):
    """A program of verbs, and one of librdmacm, whose devices stay open for ever."""
    with context.fabric() as fabric:
        harness.pair(fabric, PINGPONG, PINGPONG + ["{server}"], extra=LEAKS)
        server = rdma_cm.start_server(fabric, rdma_cm.RPING, extra=LEAKS)
        client = rdma_cm.start_client(fabric, rdma_cm.RPING, extra=LEAKS)
        for program in (client, server):
            if program.wait(time.monotonic() + 30) != 0 or "has destroyed all" not in program.err:
                raise Failure(f"something is left\n{program.describe()}")


def tests(context):
    return [("a program that leaves a CQ", lambda: leaky(context)), ("nothing judged", lambda: nothing_judged(context)),
            ("programs that leave nothing", lambda: clean(context))]
