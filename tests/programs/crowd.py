"""Several processes on one node at once, and more than two nodes on a fabric."""
import harness

WRITE = ["ib_write_bw", "-F", "-p", "{port}", "-u", "{timeout}", "-n", "200", "-s", "16384"]
SEND = ["ib_send_bw", "-F", "-p", "{port}", "-u", "{timeout}", "-n", "200", "-s", "4096"]
READ = ["ib_read_bw", "-F", "-p", "{port}", "-u", "{timeout}", "-n", "100", "-s", "16384"]
PINGPONG = ["ibv_rc_pingpong", "-g", "0", "-p", "{port}", "-n", "50", "-c"]


def run_all(context, fabric, plans):
    """plans: (argv, server node, client node). All pairs run at once."""
    def begin(argv, server, client):
        options = {"faults": harness.survivable(context.faults, argv)}
        return harness.Pair(fabric, argv, argv + ["{server}"], [server, client], options, options)

    pairs = [begin(*plan) for plan in plans]
    for pair in pairs:
        pair.finish(120)


def tests(context):
    def same_two_nodes():
        with context.fabric() as fabric:
            one, two = fabric.nodes
            run_all(context, fabric, [(WRITE, one, two), (SEND, one, two), (READ, two, one), (PINGPONG, one, two)])

    def one_node():
        with context.fabric(1) as fabric:
            node = fabric.nodes[0]
            run_all(context, fabric, [(WRITE, node, node), (PINGPONG, node, node)])

    def three_nodes():
        with context.fabric(3) as fabric:
            one, two, three = fabric.nodes
            run_all(context, fabric, [(SEND, one, two), (SEND, two, three), (SEND, three, one)])

    def comes_and_goes():
        with context.fabric() as fabric:
            one, two = fabric.nodes
            steady = harness.Pair(fabric, WRITE[:-4] + ["-D", "4", "-s", "4096"],
                                  WRITE[:-4] + ["-D", "4", "-s", "4096", "{server}"], [one, two])
            for _ in range(3):
                run_all(context, fabric, [(PINGPONG, one, two)])
            steady.finish(60)

    return [("four pairs of processes share two nodes", same_two_nodes),
            ("two pairs of processes share one node", one_node),
            ("three nodes in a ring", three_nodes),
            ("processes come and go beside one that stays", comes_and_goes)]
