#!/usr/bin/env python3
"""Carries frames between a packet socket and QEMU's network card (a datagram socket), until it is killed, and records them.

  relay.py PACKET_SOCKET DATAGRAM_SOCKET CONTROL      three descriptors that it has inherited

On CONTROL comes the path of a pcap file to begin, or a dash, which ends the file; both are answered when it is done. What is recorded is
what was carried, frame for frame: none is missing at either end of a recording, and none for want of speed.

A process of its own, for it runs whenever a frame moves. Who cannot take a frame now is waited for: that is back pressure, not
loss. A packet socket does what a tap device would, without a device node, which a container may not have.
"""
import select
import socket
import struct
import sys
import time

FRAME_MAX = 1 << 16
AT_ONCE = 64  # frames of one direction, before the other one has its turn
PCAP_NANOSECONDS, ETHERNET = 0xA1B23C4D, 1


class Recording:
    def __init__(self):
        self.file = None

    def obey(self, control):
        words = control.recv(FRAME_MAX)
        if self.file:
            self.file.close()
        self.file = open(words.decode(), "wb") if words != b"-" else None  # closed by the next word
        if self.file:
            self.file.write(struct.pack("<IHHIIII", PCAP_NANOSECONDS, 2, 4, 0, 0, FRAME_MAX, ETHERNET))
        control.send(b"done")

    def add(self, frame):
        if self.file:
            seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
            self.file.write(struct.pack("<IIII", seconds, nanoseconds, len(frame), len(frame)) + frame)


def carry(source, target, recording):
    for _ in range(AT_ONCE):
        try:
            frame = source.recv(FRAME_MAX, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            return  # its interface is down for a moment
        recording.add(frame)
        try:
            target.send(frame)  # blocks while the target is full
        except OSError:
            continue  # longer than its MTU, or its interface is down: gone, as on a wire


def main():
    packets, card, control = [socket.socket(fileno=int(word)) for word in sys.argv[1:]]
    recording = Recording()
    steps = {packets.fileno(): lambda: carry(packets, card, recording), card.fileno(): lambda: carry(card, packets, recording),
             control.fileno(): lambda: recording.obey(control)}
    poll = select.poll()
    for end in (packets, card, control):
        end.setblocking(True)
        poll.register(end, select.POLLIN)
    while True:
        for descriptor, _ in poll.poll():
            steps[descriptor]()


if __name__ == "__main__":
    main()
