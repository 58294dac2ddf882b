"""What the tests of odd surroundings share: a job is run natively and under Espalier in three settings, and must come
to the same exit code and the same output. Used by the run-* scripts beside it, with the environment of make check."""
import os
import shutil
import subprocess
import sys
import tempfile

BUILD = os.environ.get("ESPI_BUILD", os.getcwd())
MPIEXEC = os.environ.get("MPIEXEC", "")
MPICC = os.environ.get("MPICC", "mpicc")
SOURCE = os.environ.get("ESPI_SOURCE", os.path.dirname(os.path.abspath(__file__)) + "/../..")
HERE = BUILD + "/tests/preload/"
STUB = BUILD + "/.libs/libespalier.so"
ESPALIER = BUILD + "/espalier"
YIELD = os.environ.get("ESPI_YIELD", "")
PROGRAM = HERE + "ordinary"
LIMIT = int(os.environ.get("ESPALIER_TEST_LIMIT", "120"))
SETTINGS = {
    "default": {},
    "always": {"ESPALIER_COLLECTIVES": "always", "ESPALIER_DATATYPES": "always"},
    "off": {"ESPALIER": "0"},
}


class Failure(Exception):
    pass


class Skipped(Exception):
    pass


def need(condition, text):
    if not condition:
        raise Failure(text)


def have(*commands):
    for command in commands:
        if not shutil.which(command):
            raise Skipped("no " + command)


def environment(**more):
    """The caller's without settings and preloads. The library's own messages about odd surroundings are no output."""
    found = {k: v for k, v in os.environ.items() if not k.startswith("ESPALIER") and k != "LD_PRELOAD"}
    found.update({"UCX_LOG_LEVEL": "fatal", "UCX_HANDLE_ERRORS": "none"})
    found.update({k: v for k, v in more.items() if v is not None})
    for name in [k for k, v in more.items() if v is None]:
        found.pop(name, None)
    return found


def run(command, limit=LIMIT, cwd=None, **more):
    """(exit code, stdout, stderr); what hangs is a failure."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=limit, stdin=subprocess.DEVNULL, cwd=cwd,
                              env=environment(**more))
    except subprocess.TimeoutExpired:
        raise Failure("does not end within %d s: %s" % (limit, " ".join(command))) from None
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def job(count, command, before=(), stub=False, **settings):
    """mpiexec command: `before` stands between the launcher and the preload, the settings inside."""
    if not MPIEXEC:
        raise Skipped("no launcher")
    libraries = [library for library in ([STUB] if stub else []) + [YIELD] if os.path.exists(library)]
    # Another user starts the launcher, too.
    outer, inner = (list(before), []) if before and before[0] == "setpriv" else ([], list(before))
    return (outer + [MPIEXEC, "-n", str(count)] + inner + ["env", "LD_PRELOAD=" + ":".join(libraries)] +
            ["%s=%s" % pair for pair in settings.items()] + list(command))


def alike(command, count=3, before=(), prepare=None, look=None, settings=None, what="", lives=True, only=SETTINGS,
          **more):
    """Natively, then in each of SETTINGS (or those in `only`), with those of a dictionary in addition. `prepare()`
    goes before each run; `look(name, result)` is for more than exit code and output. Unless `lives`, the job may end
    otherwise natively: then it must end under Espalier, too, and no more is asked. Returns what stderr held by name
    of setting."""
    said = {}
    if prepare:
        prepare()
    native = run(job(count, command, before), **more)
    need(not lives or native[0] == 0, "%s: natively it ends with %d\n%s%s" % ((what,) + native))
    if look:
        look("native", native)
    for name in only:
        if prepare:
            prepare()
        seen = run(job(count, command, before, True, **SETTINGS[name], **(settings or {})), **more)
        need(native[0] != 0 or (seen[0] == 0 and sorted(seen[1].splitlines()) == sorted(native[1].splitlines())),
             "%s, %s: natively exit code %d and\n%s%s%s, %s: exit code %d and\n%s%s"
             % ((what, name) + native + (what, name) + seen))
        if look:
            look(name, seen)
        said[name] = seen[2]
    return said


def own_words(text):
    """Espalier's lines on stderr."""
    return [line for line in text.splitlines() if line.startswith("espalier")]


def shell(commands):
    """Runs shell commands first and then becomes what follows."""
    return ["sh", "-c", commands + '; exec "$@"', "sh"]


def as_user(number):
    """Becomes another user and then what follows; whether tests may is a matter of rights."""
    have("setpriv")
    if os.geteuid() != 0:
        raise Skipped("only root can be other users")
    before = ["setpriv", "--reuid", str(number), "--regid", str(number), "--clear-groups"]
    if run(before + ["test", "-x", PROGRAM, "-a", "-r", STUB])[0] != 0:
        raise Skipped("other users may not read the build folder")
    return before


def in_own_mounts(commands):
    """Commands that mount something, seen by nobody else, and then becomes what follows."""
    have("unshare")
    before = ["unshare", "-m", "--propagation", "private"] + shell("set -e; " + commands)
    if run(before + ["true"])[0] != 0:
        raise Skipped("no right to mount")
    return before


class Folder:
    """A folder for a test; all may enter it."""

    def __enter__(self):
        self.name = tempfile.mkdtemp(prefix="espalier-test-")
        os.chmod(self.name, 0o755)
        return self.name

    def __exit__(self, *_):
        shutil.rmtree(self.name, ignore_errors=True)


def sanitized():
    """Built with sanitizers: the libraries cannot be preloaded into programs without."""
    with open(STUB, "rb") as file:
        return b"__asan_init" in file.read()


def main(cases, title):
    """Runs the functions case_* (all, or those named as arguments); the script's exit code."""
    cases = {name[5:]: case for name, case in cases.items() if name.startswith("case_")}
    chosen = sys.argv[1:] or list(cases)
    failed = skipped = 0
    for name in chosen:
        try:
            cases[name]()
            print("ok      " + name, flush=True)
        except Skipped as why:
            skipped += 1
            print("skipped %s: %s" % (name, why), flush=True)
        except Failure as why:
            failed += 1
            print("FAILED  %s: %s" % (name, why), flush=True)
    print("%s: %d cases, %d failed, %d skipped" % (title, len(chosen), failed, skipped))
    sys.exit(1 if failed else 77 if skipped == len(chosen) else 0)
