"""Checks of an installed wheel, one after the other. Each raises SmokeError, or returns a line to print."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from tools.smoke.environment import Environment, SmokeError, pinned
from tools.smoke.service import Service
from tools.smoke.spark import sessions

_IMPORT_ALL = """
import importlib, pkgutil, penstock
names = [module.name for module in pkgutil.walk_packages(penstock.__path__, "penstock.")]
for name in names:
    if name.endswith("__main__"):
        continue
    importlib.import_module(name)
for name in penstock.__all__:
    getattr(penstock, name)
print(len(names))
"""
_PROGRAM = """
import sys
from penstock import Admin, BrokerClient, Consumer, Producer
bootstrap, push_port = sys.argv[1], int(sys.argv[2])
with Admin(bootstrap) as admin:
    admin.create_topic("smoke-sdk", partitions=1)
with Producer(bootstrap, value_serializer="json") as producer:
    print(producer.send("smoke-sdk", {"said": "over Kafka"}).result().offset)
with BrokerClient("127.0.0.1", push_port) as client:
    client.publish_text("smoke-sdk", '{"said": "over push"}')
with Consumer(bootstrap, "smoke-sdk", group="smoke", start="earliest", value_deserializer="json") as consumer:
    for _, record in zip(range(2), consumer):
        print(record.value["said"])
"""


def dependencies(environment: Environment, pins: Path) -> str:
    """The wheel installs exactly the packages that requirements/runtime.txt pins."""
    installed = {name: version for name, version in environment.installed().items() if name != "penstock"}
    expected = pinned(pins)
    wrong = [f"{name} {version}" for name, version in installed.items() if expected.get(name) != version]
    if wrong:
        raise SmokeError(f"{pins.name} does not pin {', '.join(wrong)}: add what the wheel needs")
    unused = sorted(set(expected) - set(installed))
    if unused:
        raise SmokeError(
            f"the wheel does not ask for {', '.join(unused)}: take it out of {pins.name}, or name who needs it"
        )
    return f"{len(installed)} packages, all pinned"


def version(environment: Environment, wheel: Path) -> str:
    wanted = f"penstock {wheel.name.split('-')[1]}"
    if (output := environment.penstock("--version").strip()) != wanted:
        raise SmokeError(f"--version says {output!r}, not {wanted!r}")
    return output


def modules(environment: Environment) -> str:
    """Every module can be imported with the wheel's own dependencies; extras are only needed when they are used."""
    return f"{environment.python('-c', _IMPORT_ALL).strip()} modules"


def files(environment: Environment) -> str:
    """Templates, scenarios and the demo's pipeline are inside."""
    environment.penstock("pipeline", "init", "project", "--topic", "events")
    environment.penstock("pipeline", "init", "prices", "--example", "prices")
    for name in ("project/spark-pipeline.yml", "prices/transformations/bars.sql"):
        if not (environment.directory / name).is_file():
            raise SmokeError(f"penstock pipeline init made no {name}")
    scenarios = environment.penstock("bench", "--scenarios")
    if "mixed" not in scenarios:
        raise SmokeError(f"penstock bench --scenarios does not know mixed:\n{scenarios}")
    return "templates, scenarios and the demo's pipeline"


def commands(environment: Environment, service: Service) -> str:
    """Create a topic, produce and consume with the installed command."""
    broker = ("--bootstrap-server", service.bootstrap)
    environment.penstock("topic", "create", "smoke", "--partitions", "2", *broker)
    environment.penstock("produce", "smoke", "--key-separator", ":", *broker, stdin="AAPL:187.20\n")
    output = environment.penstock("consume", "smoke", "--from", "earliest", "--count", "1", *broker)
    if "187.20" not in output:
        raise SmokeError(f"penstock consume does not show what was produced:\n{output}")
    return "a topic, a message there and back"


def program(environment: Environment, service: Service) -> str:
    """The SDK and the push client, as a program uses them."""
    output = environment.python("-c", _PROGRAM, service.bootstrap, str(service.push_port)).split("\n")
    if output[:3] != ["0", "over Kafka", "over push"]:
        raise SmokeError(f"a program with the SDK saw {output}")
    return "messages through the SDK and the push door"


def extras(environment: Environment, service: Service) -> str:
    """A command that needs an extra names it."""
    output = environment.penstock("archive", "smoke", "archive", "--bootstrap-server", service.bootstrap, code=1)
    if "penstock[spark]" not in output:
        raise SmokeError(f"penstock archive does not name the extra that it needs:\n{output}")
    return "archive asks for penstock[spark]"


def http(service: Service) -> str:
    listed = {topic["name"] for topic in json.loads(service.get("/api/v1/topics"))["topics"]}
    if not {"smoke", "smoke-sdk"} <= listed:
        raise SmokeError(f"the admin API lists {sorted(listed)}")
    if "penstock_messages_in_total" not in service.get("/metrics"):
        raise SmokeError("/metrics has no penstock_messages_in_total")
    return "admin API and metrics"


def stop(service: Service) -> str:
    if (code := service.stop()) != 0:
        raise SmokeError(f"it stopped with {code}\n{service.log}")
    if not (service.data / "clean").exists():
        raise SmokeError(f"it left no mark of a clean stop\n{service.log}")
    errors = [line for line in service.log.splitlines() if " ERROR " in line or "Traceback" in line]
    if errors:
        raise SmokeError("\n".join(["its log has errors:", *errors]))
    return "exit code 0, a clean stop, no error in the log"


def spark(environment: Environment, service: Service, wheel: Path, pins: Path) -> str:
    """The wheel penstock-spark that was built with this one, where there is one and Java to run it."""
    found = sorted(wheel.parent.glob(f"penstock_spark-{wheel.name.split('-')[1]}-*.whl"))
    if not found or shutil.which("java") is None:
        return f"left out: there is no {'Java' if found else 'wheel penstock-spark beside this one'}"
    return sessions(environment, service, found[0], pins.with_name("spark.txt"))


def run(wheel: Path, pins: Path, directory: Path, report: Callable[[str, str], None]) -> None:
    """Run all checks; `report` is called with the result of each."""
    environment = Environment(directory)
    environment.install(wheel, pins)
    report("installed", wheel.name)
    report("dependencies", dependencies(environment, pins))
    report("version", version(environment, wheel))
    report("imports", modules(environment))
    report("files", files(environment))
    with Service(environment) as service:
        report("serve", f"ready on {service.bootstrap}")
        report("commands", commands(environment, service))
        report("program", program(environment, service))
        report("extras", extras(environment, service))
        report("HTTP", http(service))
        report("Spark", spark(environment, service, wheel, pins))
        report("stop", stop(service))
