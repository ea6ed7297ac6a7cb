"""Builds the guest's initial RAM disk: the programs of this machine's distribution, the modules of the unpacked kernel package,
busybox, and the scripts in guest/.

Owns: which programs and modules the guest has, and the newc archive that the kernel unpacks. The kernel package is fetched and
unpacked by scripts/setup.sh; nothing here needs privileges or the network.
"""
import glob
import lzma
import os
import re
import stat
import struct
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
SEARCH = "/usr/sbin:/usr/bin:/sbin:/bin"
PROGRAMS = [
    "ip", "tc", "rdma", "ibv_devinfo",
    "ibv_rc_pingpong", "ibv_uc_pingpong", "ibv_ud_pingpong", "ibv_srq_pingpong",
    "ib_write_bw", "ib_read_bw", "ib_send_bw", "ib_atomic_bw", "ib_write_lat", "ib_read_lat", "ib_send_lat", "ib_atomic_lat",
    "rping", "udaddy", "ucmatose", "rstream", "riostream", "udpong", "cmtime", "mckey", "rdma_server", "rdma_client",
]
# libibverbs finds its providers by name, so that no program names them as libraries.
PROVIDER = "/etc/libibverbs.d/rxe.driver"
PROVIDER_LIBRARIES = "/usr/lib/*/libibverbs/librxe-rdmav*.so"
UNNAMED_LIBRARY = "/lib/*/libgcc_s.so.1"  # which glibc loads for pthread_cancel and pthread_exit
# crc32_generic: rxe asks the crypto API for "crc32", and nothing here would load it then.
MODULES = ["virtio_pci", "virtio_console", "virtio_net", "crc32_generic", "rdma_rxe", "ib_uverbs", "rdma_ucm",
           "sch_prio", "sch_netem", "cls_u32"]
FOLDERS = ["bin", "busybox", "dev", "etc", "proc", "run", "sys", "tmp"]


class Unbuildable(Exception):
    """Something that the image needs is not on this machine; the text says what."""


def kernel_of(folder):
    """(vmlinuz, folder of its modules) of an unpacked kernel package."""
    kernels = glob.glob(os.path.join(folder, "boot", "vmlinuz-*"))
    if len(kernels) != 1:
        raise Unbuildable(f"{len(kernels)} kernels below {folder}; scripts/setup.sh interop fetches one")
    version = os.path.basename(kernels[0]).removeprefix("vmlinuz-")
    return kernels[0], os.path.join(folder, "lib", "modules", version)


def modules_in_order(folder):
    """Paths of the modules and of all that they depend on, each behind what it needs."""
    places = {}
    for place, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".ko"):
                places[name.removesuffix(".ko").replace("-", "_")] = os.path.join(place, name)
    order = []

    def add(name):
        if name not in places:
            raise Unbuildable(f"the kernel in {folder} has no module {name}")
        if places[name] in order:
            return
        with open(places[name], "rb") as file:
            needed = re.search(rb"\0depends=([^\0]*)\0", file.read())
        for other in filter(None, needed.group(1).decode().split(",")) if needed else ():
            add(other.replace("-", "_"))
        order.append(places[name])
    for name in MODULES:
        add(name)
    return order


def found(program):
    for place in SEARCH.split(":"):
        path = os.path.join(place, program)
        if os.access(path, os.X_OK):
            return path
    raise Unbuildable(f"no program {program} in {SEARCH}; scripts/setup.sh interop installs it")


def libraries_of(path):
    """The files that the loader would map for an ELF file, the loader included."""
    shown = subprocess.run(["ldd", path], capture_output=True, text=True, env={"PATH": SEARCH}, check=False).stdout
    missing = re.findall(r"^\s*(\S+) => not found", shown, re.M)
    if missing:
        raise Unbuildable(f"{path} needs {', '.join(missing)}")
    return re.findall(r"(?:=> |^\s+)(/\S+) \(0x", shown, re.M)


def files(kernel_modules):
    """(path in the guest, octets, mode) of every file but folders and symbolic links."""
    elves = {path: path for path in map(found, PROGRAMS)}
    elves["/bin/sh"] = found("dash")
    elves["/bin/busybox"] = found("busybox")
    libraries = glob.glob(PROVIDER_LIBRARIES)
    if not libraries:
        raise Unbuildable(f"there is no {PROVIDER_LIBRARIES}; scripts/setup.sh interop installs it")
    elves.update({path: path for path in libraries})
    unnamed = glob.glob(UNNAMED_LIBRARY)
    if not unnamed:
        raise Unbuildable(f"there is no {UNNAMED_LIBRARY}")
    elves.update({path: path for path in unnamed})
    needed = {library for path in elves.values() for library in libraries_of(path)}
    elves.update({path: path for path in needed})
    for target, source in elves.items():
        yield target, read(source), 0o755
    yield PROVIDER, read(PROVIDER), 0o644
    for name in ("init", "agent"):
        yield f"/{name}", read(os.path.join(HERE, "guest", name)), 0o755
    names = [f"/modules.d/{os.path.basename(path)}" for path in kernel_modules]
    for name, path in zip(names, kernel_modules):
        yield name, read(path), 0o644
    yield "/modules", "".join(f"{name}\n" for name in names).encode(), 0o644
    yield "/etc/passwd", b"root:x:0:0:root:/run:/bin/sh\n", 0o644
    yield "/etc/hosts", b"127.0.0.1 localhost\n", 0o644


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Archive:
    """A cpio archive of the form newc (the kernel's Documentation/driver-api/early-userspace/buffer-format.rst)."""

    def __init__(self, file):
        self.file, self.folders, self.entries = file, set(), 0

    def _entry(self, name, mode, octets=b"", links=1):
        self.entries += 1
        encoded = name.encode() + b"\0"
        fields = [self.entries, mode, 0, 0, links, 0, len(octets), 0, 0, 0, 0, len(encoded), 0]
        self._padded(b"070701" + b"".join(b"%08X" % field for field in fields) + encoded)
        self._padded(octets)

    def _padded(self, octets):
        self.file.write(octets + bytes(-len(octets) % 4))

    def folder(self, path):
        if path and path not in self.folders:
            self.folder(os.path.dirname(path))
            self.folders.add(path)
            self._entry(path, stat.S_IFDIR | 0o755, links=2)

    def add(self, path, octets, mode):
        self.folder(os.path.dirname(path.lstrip("/")))
        self._entry(path.lstrip("/"), stat.S_IFREG | mode, octets)

    def end(self):
        self._entry("TRAILER!!!", 0)


def unpacked(kernel):
    """The ELF file inside a bzImage, which QEMU starts at its PVH entry: an emulated processor takes longer to unpack it than to boot
    it. (The kernel's Documentation/x86/boot.rst: setup_sects, payload_offset, payload_length.)"""
    sectors, = struct.unpack_from("<B", kernel, 0x1F1)
    offset, length = struct.unpack_from("<II", kernel, 0x248)
    start = ((sectors or 4) + 1) * 512 + offset
    payload = kernel[start:start + length - 4]  # behind it stands the length of what is in it
    if kernel[0x202:0x206] != b"HdrS" or not payload.startswith(b"\xfd7zXZ"):
        raise Unbuildable("the kernel is no bzImage that xz has packed")
    return lzma.decompress(payload)


def build(kernel_folder, kernel_path, path):
    """Writes the kernel and the archive to these paths."""
    kernel, modules = kernel_of(kernel_folder)
    with open(kernel_path, "wb") as file:
        file.write(unpacked(read(kernel)))
    with open(path, "wb") as file:
        archive = Archive(file)
        for folder in FOLDERS:
            archive.folder(folder)
        for entry in sorted(files(modules_in_order(modules))):
            archive.add(*entry)
        archive.end()
