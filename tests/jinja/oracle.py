"""Renders chats with jinja2, set up as transformers sets it up: what the program is compared with.

    python3 tests/jinja/oracle.py < CASES.json

CASES.json is a list of {"template": the path of a file, "context": ..}. Prints [{"text": ..} or {"error": ..}, ..], at the
time compare.NOW. Exit status 77: jinja2 is not installed.
"""

import json
import pathlib
import sys

import compare

env = compare.environment()
answers = []
for case in json.load(sys.stdin):
    template = pathlib.Path(case["template"]).read_text("utf-8")
    # What transformers gives besides, and what the program adds.
    context = {"tools": None, "documents": None, "add_generation_prompt": True, "bos_token": "", "eos_token": ""}
    answers.append(compare.expected(env, {"template": template, "context": context | case["context"]}))
json.dump(answers, sys.stdout)
