"""The guest: a virtual machine with the distribution's kernel, emulated by QEMU, and programs that run in it.

Owns: QEMU's process, the channels over which commands go, their time limits. Its network card is a datagram socket that the
caller has: a frame is a datagram. Nothing has a name in the file system: channels and console are socket pairs, and QEMU ends with
this process.
"""
import base64
import os
import queue
import signal
import socket
import subprocess
import threading
import time

import harness

CHANNELS = 4
BOOT_S = 120       # quiet: 5 s
PATIENCE_S = 30    # beyond a command's own limit
MAC = "52:54:00:77:00:02"
MTU_MAX = 9000


class Result:
    def __init__(self, status, output):
        self.status, self.output = status, output


class Channel:
    """One command at a time, by the protocol of guest/agent."""

    def __init__(self, end):
        self.end, self.asked, self.unread = end, 0, b""

    def run(self, script, seconds, patience=PATIENCE_S):
        self.asked += 1
        name = f"{self.end.fileno()}.{self.asked}"
        self.end.settimeout(patience + seconds)
        try:
            self.end.sendall(b"%s %d %s\n" % (name.encode(), seconds, base64.b64encode(script.encode())))
            while True:
                words = self._line(time.monotonic() + seconds + patience).decode().split(" ")
                if words[0] == name:
                    return Result(int(words[1]), base64.b64decode(words[2]).decode(errors="replace"))
        except (TimeoutError, OSError) as problem:
            raise harness.Failure(f"the guest does not answer: {problem}\n    | {script}") from problem

    def _line(self, deadline):
        while b"\n" not in self.unread:
            self.end.settimeout(max(0.01, deadline - time.monotonic()))
            octets = self.end.recv(1 << 16)
            if not octets:
                raise OSError("it has ended")
            self.unread += octets
        line, self.unread = self.unread.split(b"\n", 1)
        return line

    def pid_file(self):
        return f"/run/{self.end.fileno()}.{self.asked}.pid"


class Guest:
    """A running guest. Use `with`."""

    def __init__(self, kernel, image, card):
        """`card`: a datagram socket, which is the guest's network card from now on."""
        self.channels, self.console = queue.Queue(), b""
        ours, theirs = zip(*(socket.socketpair() for _ in range(CHANNELS + 1)))
        self.log, serial, argv = ours[0], theirs[0], []
        for number, end in enumerate(theirs[1:]):
            argv += ["-chardev", f"socket,id=agent{number},fd={end.fileno()}",
                     "-device", f"virtserialport,chardev=agent{number},name=agent{number}"]
        # No offloads: what the guest sends is what a wire would carry.
        off = ",".join(f"{name}=off" for name in ("csum", "guest_csum", "gso", "guest_tso4", "guest_tso6", "guest_ecn", "guest_ufo",
                                                  "host_tso4", "host_tso6", "host_ecn", "host_ufo", "mq"))
        self.process = subprocess.Popen(
            ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-machine", "pc",
             "-accel", "tcg,tb-size=128", "-cpu", "max,la57=off", "-smp", "1", "-m", "512", "-kernel", kernel, "-initrd", image,
             "-append", "console=ttyS0 loglevel=4 panic=-1 mitigations=off",
             "-chardev", f"socket,id=console,fd={serial.fileno()}", "-serial", "chardev:console",
             "-netdev", f"dgram,id=net,local.type=fd,local.str={card.fileno()}",
             "-device", f"virtio-net-pci,netdev=net,romfile=,mac={MAC},host_mtu={MTU_MAX},{off}",
             "-device", "virtio-serial-pci", *argv],
            stdin=subprocess.DEVNULL, stdout=serial, stderr=serial, start_new_session=True, preexec_fn=harness.die_with_parent,
            pass_fds=[card.fileno(), *(end.fileno() for end in theirs)])
        for end in theirs:
            end.close()
        card.close()
        threading.Thread(target=self._read_console, daemon=True).start()
        for end in ours[1:]:
            self.channels.put(Channel(end))
        try:
            self._await_boot()
        except BaseException:
            self.__exit__()
            raise

    def _read_console(self):
        while octets := self.log.recv(1 << 16):
            self.console = (self.console + octets)[-200000:]

    def _await_boot(self):
        channel = self.channels.get()
        try:
            channel.run("true", 1, BOOT_S)
        except harness.Failure as failure:
            raise harness.Failure(f"the guest did not boot within {BOOT_S} s\n{self.tail()}") from failure
        self.channels.put(channel)

    def tail(self):
        return "".join(f"    | {line}\n" for line in self.console.decode(errors="replace").splitlines()[-30:])

    def run(self, script, seconds=30):
        """Runs a shell script to its end; requires exit status 0, gives its output."""
        channel = self.channels.get(timeout=PATIENCE_S)
        try:
            result = channel.run(script, seconds)
        finally:
            self.channels.put(channel)
        if result.status != 0:
            raise harness.Failure(f"in the guest, exit status {result.status} of\n    | {script}\n{result.output}")
        return result.output

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class GuestProgram:
    """A program in the guest, with the face of harness.Program."""

    def __init__(self, guest, argv, name, seconds):
        self.guest, self.argv, self.name = guest, [str(word) for word in argv], name
        self.out, self.err, self._status = "", "", None
        self._channel = guest.channels.get(timeout=PATIENCE_S)
        script = "exec " + " ".join(quoted(word) for word in self.argv)
        self._thread = threading.Thread(target=self._run, args=(script, seconds), daemon=True)
        self._thread.start()

    def _run(self, script, seconds):
        try:
            result = self._channel.run(script, seconds)
            self.out, self._status = result.output, result.status
        except harness.Failure as failure:
            self.out, self._status = str(failure), 125
        finally:
            self.guest.channels.put(self._channel)

    @property
    def status(self):
        return self._status if not self._thread.is_alive() else None

    def wait(self, deadline):
        self._thread.join(max(0.0, deadline - time.monotonic()))
        return self.status

    def signal_group(self, number):
        self.guest.run(f"kill -{int(number)} -$(cat {self._channel.pid_file()}) || true")

    def close(self):
        """Ends the program if it still runs, so that its channel is free again."""
        if self.status is None:
            self.signal_group(signal.SIGKILL)
            self._thread.join(PATIENCE_S)

    describe = harness.Program.describe


def quoted(word):
    return "'" + word.replace("'", "'\\''") + "'"
