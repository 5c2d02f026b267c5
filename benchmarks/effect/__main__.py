"""Measure how a model's next step changes when it is reminded: ``python -m benchmarks.effect``; README.md says how."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from openai import OpenAIError
from tqdm import tqdm

from benchmarks.documents import put_between
from benchmarks.effect.arms import ARMS, wordings
from benchmarks.effect.endpoint import API_KEY, Endpoint
from benchmarks.effect.figures import figures
from benchmarks.effect.lines import LineFile, read_lines
from benchmarks.effect.plan import PARTS, Plan
from benchmarks.effect.report import body, page
from benchmarks.effect.scenarios import SCENARIOS, Scenarios

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, and sample or report.

    Args:
        arguments: The command line without the program's name; None for the process's own.

    Raises:
        SystemExit: The command line or a file is wrong, or the endpoint did not answer. What has been measured is
            in the file by then.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        if options.command == "sample":
            _sample(options)
        else:
            _report(options)
    except OpenAIError as error:
        parser.exit(1, f"The endpoint: {error}\nWhat has been measured is kept; the same command goes on from there.\n")
    except (OSError, ValueError) as error:
        parser.error(str(error))


def _sample(options: argparse.Namespace) -> None:
    arms = [*ARMS, *(wordings(options.wordings) if options.wordings else ())]
    if unknown := set(options.arm or ()) - {arm.name for arm in arms}:
        msg = f"there is no arm {', '.join(sorted(unknown))}; there are {', '.join(arm.name for arm in arms)}"
        raise ValueError(msg)
    scenarios = Scenarios.load(options.scenarios)
    only = options.scenario or ()
    if unknown := set(only) - {each.id for each in (*scenarios.stuck, *scenarios.poll)}:
        msg = f"there is no scenario {', '.join(sorted(unknown))}"
        raise ValueError(msg)
    plan = Plan(
        scenarios=scenarios,
        parts=options.part or PARTS,
        arms=[arm for arm in arms if not options.arm or arm.name in options.arm],
        counts=options.k,
        repetitions=options.repetitions,
        first_seed=options.seed,
        max_turns=options.max_turns,
        cache_turns=options.cache_turns,
        only=only,
    )
    samples = list(plan.samples())
    file = LineFile(options.lines)
    settings = {"temperature": options.temperature, "max_tokens": options.max_tokens, "timeout": options.timeout}
    with (
        Endpoint(options.base_url, options.model, **settings) as endpoint,
        tqdm(total=len(samples), unit="sample", disable=options.quiet) as bar,
    ):
        for sample in samples:
            bar.set_postfix_str(f"{sample.part} {sample.scenario.id} {sample.arm.name}", refresh=False)
            if not sample.is_in(file, endpoint):
                file.add(sample.take(endpoint, file))
            bar.update()


def _report(options: argparse.Namespace) -> None:
    found = figures(read_lines(options.lines))
    text = page(found)
    if options.json is not None:
        options.json.write_text(f"{found.model_dump_json(indent=1)}\n", encoding="utf-8")
    if options.into is not None:
        document = put_between(options.into.read_text(encoding="utf-8"), "effect", body(found))
        options.into.write_text(document, encoding="utf-8")
    if options.markdown is not None:
        options.markdown.write_text(text, encoding="utf-8")
    elif options.into is None:
        sys.stdout.write(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.effect", description=(__doc__ or "").partition(":")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    sample = commands.add_parser(
        "sample", help="ask an endpoint, and write a line for each sample", epilog=f"A key is taken from {API_KEY}."
    )
    sample.add_argument("lines", type=Path, metavar="LINES", help="the file of lines; it is carried on if it exists")
    sample.add_argument("--base-url", required=True, metavar="URL", help="the endpoint, with its version")
    sample.add_argument("--model", required=True, metavar="NAME")
    sample.add_argument("--part", action="append", choices=PARTS, help="may be repeated (default: all)")
    sample.add_argument("--arm", action="append", metavar="NAME", help="may be repeated (default: all)")
    sample.add_argument("--scenario", action="append", metavar="ID", help="may be repeated (default: all)")
    sample.add_argument("--wordings", type=Path, metavar="TOML", help="further arms: tables of the guard's settings")
    sample.add_argument("--scenarios", type=Path, default=SCENARIOS, metavar="TOML", help="other scenarios")
    sample.add_argument("--k", type=_positive, nargs="+", default=[2, 3, 5, 8], metavar="K", help="identical calls")
    sample.add_argument("--repetitions", type=_positive, default=1, metavar="N")
    sample.add_argument("--seed", type=int, default=1, metavar="N", help="what all seeds come from")
    sample.add_argument("--temperature", type=float, default=0.7, metavar="T")
    sample.add_argument("--max-tokens", type=_positive, default=300, metavar="N", help="of a message")
    sample.add_argument("--max-turns", type=_positive, default=15, metavar="N", help="of a whole run")
    sample.add_argument("--cache-turns", type=_positive, default=10, metavar="N", help="of a cache conversation")
    sample.add_argument("--timeout", type=float, default=600, metavar="SECONDS", help="of a request")
    sample.add_argument("--quiet", action="store_true", help="show no progress")
    report = commands.add_parser("report", help="make the report from lines alone")
    report.add_argument("lines", type=Path, nargs="+", metavar="LINES")
    report.add_argument("--markdown", type=Path, metavar="OUT", help="write it to this file, and do not print it")
    report.add_argument("--into", type=Path, metavar="PAGE", help="write it between the markers of this page")
    report.add_argument("--json", type=Path, metavar="OUT", help="write the figures to this file")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


if __name__ == "__main__":
    main()
