#!/usr/bin/python3
"""Remote calls of PyTorch over TensorPipe's ibv transport, which loads libibverbs.so.1 by dlopen: tensors go there and back.

  tensorpipe_check.py RANK ADDRESS PORT CALLS     rank 0 answers at ADDRESS, rank 1 calls and compares
"""
import fcntl
import os
import socket
import struct
import sys

import torch
import torch.distributed.rpc as rpc

RPC_TIMEOUT_S = 20
SIOCGIFADDR = 0x8915
SIZES = (1, 1000, 100_000, 1 << 20)  # of eight octets each


def call_and_compare(calls):
    for call in range(calls):
        for size in SIZES:
            sent = torch.arange(size, dtype=torch.int64) * 2654435761 + call
            answer = rpc.rpc_sync("rank0", torch.add, args=(sent, 5 * call + 1))
            if not torch.equal(answer, sent + (5 * call + 1)):
                sys.exit(f"WRONG: call {call}, {size} elements")
    print(f"{calls} calls with each of {len(SIZES)} tensors are right", flush=True)


def interface_towards(address):
    """The network interface that has the address which packets to `address` come from; None: the loopback's, by one of its further addresses."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        asked.connect((address, 1))
        own = socket.inet_aton(asked.getsockname()[0])
        for _, name in socket.if_nameindex():
            try:
                if fcntl.ioctl(asked, SIOCGIFADDR, struct.pack("256s", name.encode()))[20:24] == own:
                    return name
            except OSError:
                continue  # it has no address
    return None


def main():
    rank, address, port, calls = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
    # By themselves both take the address that the machine's name has, which other network namespaces do not reach.
    if interface := interface_towards(address):
        os.environ["GLOO_SOCKET_IFNAME"] = os.environ["TP_SOCKET_IFNAME"] = interface
    options = rpc.TensorPipeRpcBackendOptions(
        num_worker_threads=2, rpc_timeout=RPC_TIMEOUT_S, init_method=f"tcp://{address}:{port}", _transports=["ibv"], _channels=["basic"])
    rpc.init_rpc(f"rank{rank}", rank=rank, world_size=2, rpc_backend_options=options)
    if rank == 1:
        try:
            call_and_compare(calls)
        except RuntimeError as error:
            # Without the other rank there is no orderly end.
            print(f"torch says: {error}", flush=True)
            os._exit(1)
    rpc.shutdown()


if __name__ == "__main__":
    main()
