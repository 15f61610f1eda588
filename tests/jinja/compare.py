"""Compares our chat templates with jinja2, set up as transformers sets it up.

    python3 tests/jinja/compare.py JINJA_RENDER

Every template of language.txt and idioms.txt, every line of expressions.txt, and of ../shared/data/templates where there is such a folder, is rendered
with contexts of contexts.json on both sides. Both must give the same text, or both an error. Exit status 77: jinja2 is
not installed.
"""

import copy
import datetime
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import jinja2
    import jinja2.ext
    import jinja2.sandbox
except ImportError:
    print("skipped: python3-jinja2 is not installed")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
SHARED = HERE.parents[1].parent / "shared" / "data" / "templates"
NOW = 1753920305  # 2025-07-31 00:05:05 UTC


class Generation(jinja2.ext.Extension):
    """{% generation %} marks the model's own words; here it only shows them."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_show"), [], [], body).set_lineno(line)

    @staticmethod
    def _show(caller):
        return caller()


def environment():
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(
            x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
        )

    def strftime_now(format):
        now = datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc).replace(tzinfo=None)
        return now.strftime(format)

    made = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = strftime_now
    return made


def expected(env, case):
    try:
        text = env.from_string(case["template"]).render(**copy.deepcopy(case["context"]))
        text.encode("utf-8")
        return {"text": text}
    except Exception as error:  # whatever it is, the other side must fail, too
        return {"error": f"{type(error).__name__}: {error}"}


def templates(path):
    """The templates of a file, with lines of dashes between them."""
    for number, part in enumerate(path.read_text("utf-8").split("\n----\n"), 1):
        yield f"{path.name} {number}", part


def cases():
    contexts = json.loads((HERE / "contexts.json").read_text("utf-8"))
    values = contexts.pop("values")
    small = list(templates(HERE / "language.txt"))
    lines = (HERE / "expressions.txt").read_text("utf-8").splitlines()
    small += [(f"expressions.txt {number}", line) for number, line in enumerate(lines, 1)]
    for name, template in small:
        yield name, "values", {"template": template, "context": values}
    models = list(templates(HERE / "idioms.txt"))
    if SHARED.is_dir():
        files = sorted(SHARED.glob("*.jinja"))
        models += [(file.name, file.read_text("utf-8")) for file in files]
        for file in sorted(SHARED.glob("*.json")):
            contexts[file.name] = json.loads(file.read_text("utf-8"))
    else:
        print(f"skipped: {SHARED} is not there")
    for name, template in models:
        for title, context in contexts.items():
            yield name, title, {"template": template, "context": context}


def main():
    listed = list(cases())
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".json") as file:
        json.dump([{**case, "now": NOW} for _, _, case in listed], file)
        file.flush()
        done = subprocess.run([sys.argv[1], file.name], capture_output=True, check=True)
    answers = json.loads(done.stdout)
    env = environment()
    failed = errors = 0
    for (name, title, case), answer in zip(listed, answers, strict=True):
        wanted = expected(env, case)
        errors += "error" in wanted
        if "error" in wanted and "error" in answer:
            continue
        if wanted == answer:
            continue
        failed += 1
        print(f"{name} with {title}:\n  {case['template'][:300]!r}\n  jinja2: {wanted}\n  ours:   {answer}")
    print(f"{len(listed) - failed} passed, {failed} failed; {errors} are errors on both sides")
    return 1 if failed or len(listed) < 300 else 0


if __name__ == "__main__":
    sys.exit(main())
