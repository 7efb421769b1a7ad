"""Real engines in a JVM, from the artefacts that they publish.

`tests/engines/NAME/` has a pom.xml that names the artefacts with their versions, and a Main.java
that reads the JSON file named by its first argument and writes that named by its second. As a
program this file fetches all of them, so that the tests find them there.
"""

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ENGINES = Path(__file__).parent
# Beside the other caches of the project, so that a second run needs no network.
CACHE = ENGINES.parent.parent / ".cache" / "engines"
# Fetching artefacts for the first time, in seconds.
FETCH, RUN = 600, 300


class UnavailableError(Exception):
    """An engine cannot be started on this machine."""


def run(engine: str, request: object) -> dict:
    """What the engine's program answers; skips the test where it cannot be had."""
    try:
        classpath = _classpath(engine)
    except UnavailableError as reason:
        pytest.skip(str(reason))
    classes = _compiled(engine, classpath)
    folder = _folder(engine)
    folder.mkdir(parents=True, exist_ok=True)
    # Tests of several processes may ask at the same time.
    question, answer = (folder / f"{name}-{os.getpid()}.json" for name in ("request", "response"))
    question.write_text(json.dumps(request))
    answer.unlink(missing_ok=True)
    # Programs that run for seconds are over before the second compiler pays.
    options = ["-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    command = ["java", *options, "-cp", f"{classes}{os.pathsep}{classpath}"]
    process = subprocess.run(
        [*command, "Main", str(question), str(answer)],
        capture_output=True,
        text=True,
        timeout=RUN,
        check=False,
    )
    if process.returncode:
        raise AssertionError(f"{engine} failed:\n{process.stdout[-4000:]}{process.stderr[-8000:]}")
    return json.loads(answer.read_text())


def _folder(engine: str) -> Path:
    """Where what belongs to this version of the engine and of its program is kept."""
    sources = sorted((ENGINES / engine).rglob("*"))
    content = b"".join(path.read_bytes() for path in sources if path.is_file())
    return CACHE / f"{engine}-{hashlib.sha256(content).hexdigest()[:12]}"


def _classpath(engine: str) -> str:
    for program in ("java", "javac", "mvn"):
        if shutil.which(program) is None:
            raise UnavailableError(f"{program} is not on this machine: {engine} cannot be started.")
    path = _folder(engine) / "classpath.txt"
    if not path.is_file() or not all(map(os.path.exists, path.read_text().split(os.pathsep))):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}")
        pom = ENGINES / engine / "pom.xml"
        goal = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath"
        command = ["mvn", "-q", "-B", "-f", str(pom), goal, f"-Dmdep.outputFile={partial}"]
        try:
            process = subprocess.run(
                command, capture_output=True, text=True, timeout=FETCH, check=False
            )
        except subprocess.TimeoutExpired:
            raise UnavailableError(
                f"The artefacts of {engine} could not be fetched in {FETCH} seconds."
            ) from None
        if process.returncode:
            raise UnavailableError(
                f"The artefacts of {engine} cannot be had: {process.stdout[-600:]}"
            )
        partial.replace(path)
    return path.read_text().strip()


def _compiled(engine: str, classpath: str) -> Path:
    classes = _folder(engine) / "classes"
    if not classes.is_dir():
        partial = classes.with_name(f"classes-{os.getpid()}")
        sources = map(str, (ENGINES / engine).rglob("*.java"))
        subprocess.run(
            ["javac", "-nowarn", "-d", str(partial), "-cp", classpath, *sources], check=True
        )
        try:
            partial.rename(classes)
        except OSError:  # another process was first
            shutil.rmtree(partial)
    return classes


if __name__ == "__main__":
    for place in sorted(path.parent for path in ENGINES.glob("*/pom.xml")):
        try:
            _compiled(place.name, _classpath(place.name))
        except UnavailableError as reason:
            print(f"{reason} Its tests will skip.")
