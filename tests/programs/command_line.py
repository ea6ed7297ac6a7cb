"""`verbena` as a command: wrong command lines get one clear line on stderr and exit status 2; the program's status is passed on."""
import subprocess

from harness import Failure

WRONG = [
    [], ["nosuch"], ["--nosuch"],
    ["exec"], ["exec", "--"], ["exec", "--node", "1"],
    ["exec", "--nosuch", "--", "true"],
    ["exec", "--node", "0", "--", "true"], ["exec", "--node", "256", "--", "true"], ["exec", "--node", "x", "--", "true"],
    ["exec", "--node", "", "--", "true"], ["exec", "--node"],
    ["exec", "--link", "carrier-pigeon", "--", "true"],
    ["exec", "--seed", "abc", "--", "true"],
    ["exec", "--fault", "explode 1%", "--", "true"], ["exec", "--fault", "drop 200%", "--", "true"],
    ["exec", "--fault", "fail", "--", "true"], ["exec", "--fault", "fail verb=create_qc", "--", "true"],
    ["exec", "--fault", "fail verb=create_cq nth=0", "--", "true"], ["exec", "--fault", "fail verb=create_cq errno=ENOMORE", "--", "true"],
    ["exec", "--fault", "drop verb=create_cq", "--", "true"],
    ["exec", "--fault", "drop qp=x", "--", "true"], ["exec", "--fault", "", "--", "true"],
    ["exec", "--pcap", "/nonexistent/dir/file.pcapng", "--", "true"],
    ["exec", "--ports", "3", "--", "true"],
    ["exec", "--ports", "2", "--link", "udp", "--node", "10.0.0.1", "--", "true"],
    ["exec", "--devices", "2", "--device-name", "9" * 63, "--", "true"],
    ["exec", "--nic", "speed=100Gbps,25Gbps", "--", "true"], ["exec", "--devices", "2", "--nic", "speed=1Gbps,x", "--", "true"],
    ["exec", "--devices", "2", "--nic", "speed=1Gbps,2Gbps,3Gbps", "--", "true"],
    ["exec", "--devices", "2", "--ports", "2", "--nic", "speed=1Gbps,2Gbps,3Gbps", "--", "true"],
    ["exec", "--numa", "0,1", "--", "true"], ["exec", "--ports", "2", "--numa", "0,1", "--", "true"],
    ["exec", "--numa", "-1", "--", "true"], ["exec", "--numa", "0 mtu=256", "--", "true"],
    ["exec", "--numa", "1", "--nic", "numa=1", "--", "true"], ["exec", "--numa", "1024", "--", "true"],
    ["explain"], ["explain", "--nosuch"], ["explain", "a", "b", "c"],
]
PASSED_ON = [(["true"], 0), (["false"], 1), (["sh", "-c", "exit 42"], 42), (["no-such-program-anywhere"], 127)]


def run(context, arguments):
    return subprocess.run([context.verbena, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20,
                          check=False)


def tests(context):
    def wrong(arguments):
        done = run(context, arguments)
        lines = done.stderr.splitlines()
        if done.returncode != 2 or len(lines) != 1 or done.stdout:
            raise Failure(f"exit status {done.returncode}, stdout {done.stdout!r}, stderr {done.stderr!r}")

    def passes_on(argv, status):
        for extra in ([], ["--stats"]):
            done = run(context, ["exec", *extra, "--", *argv])
            if done.returncode != status:
                raise Failure(f"exit status {done.returncode} instead of {status} with {extra}: {done.stderr}")

    def help_is_help():
        for arguments in (["--help"], ["exec", "--help"], ["explain", "--help"]):
            done = run(context, arguments)
            if done.returncode != 0 or len(done.stdout.splitlines()) < 3:
                raise Failure(f"{arguments}: exit status {done.returncode}, stdout {done.stdout!r}")

    return ([(f"wrong: verbena {' '.join(map(repr, words))}", lambda words=words: wrong(words)) for words in WRONG]
            + [(f"exit status of {argv} is {status}", lambda argv=argv, status=status: passes_on(argv, status))
               for argv, status in PASSED_ON]
            + [("help is printed on stdout", help_is_help)])
