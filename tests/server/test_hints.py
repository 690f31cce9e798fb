# SPDX-License-Identifier: Apache-2.0
"""test_hints.py: the lines that a start prints can be pasted: a shell runs them here."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import tomllib

from serving import SLOWER, Server, serving


def shell(line, **env):
    done = subprocess.run(["sh", "-c", line], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=60 * SLOWER, env={**os.environ, **env})
    assert done.returncode == 0, (line, done.stderr)
    return done.stdout


def run_curl(text, **env):
    if shutil.which("curl"):
        [command] = re.findall(r"^  (curl .*\n    -d .*)$", text, re.M)
        answer = json.loads(shell(command.replace("curl ", "curl -sS ", 1), **env))
        assert answer["choices"][0]["message"]["role"] == "assistant"


def line_of(text, name):
    [line] = re.findall(rf"^  {name}: +(.*)$", text, re.M)
    return line


def settings(text, folder, **env):
    """What each agent would get: programs of their names that tell it take their places."""
    for name in "claude", "codex", "opencode":
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nenv\nfor word; do echo \"ARG $word\"; done\n")
        os.chmod(path, 0o700)
    env["PATH"] = folder + ":" + os.environ["PATH"]
    sdk = shell(line_of(text, "OpenAI SDK") + "; env", **env)
    return [sdk] + [shell(line_of(text, name), **env)
                    for name in ("Claude Code", "Codex", "opencode")]


def check(server, folder, key, name):
    text = server.wait_for_line(r"(?s)ready at.*twice at once") and "".join(server.lines)
    url = f"http://127.0.0.1:{server.port}"
    env = {"GLINT_API_KEY": key} if key else {}
    run_curl(text, **env)
    weights, cache = (float(re.search(rf"Memory: .*{part} ([0-9.]+)", text)[1])
                      for part in ("weights", "cache"))
    assert weights >= 0 and cache >= 0
    sdk, claude, codex, opencode = settings(text, folder, **env)
    key = key or "none"
    assert f"\nOPENAI_BASE_URL={url}/v1\n" in "\n" + sdk
    assert f"\nOPENAI_API_KEY={key}\n" in "\n" + sdk
    for variable in (f"BASE_URL={url}", f"AUTH_TOKEN={key}", f"MODEL={name}"):
        assert f"\nANTHROPIC_{variable}\n" in "\n" + claude, claude
    words = re.findall(r"^ARG (.*)$", codex, re.M)
    assert words[::2] == ["-c"] * 3
    model, provider, table = words[1::2]
    assert [model, provider] == ["model=" + name, "model_provider=glint"]
    found = tomllib.loads(table)["model_providers"]["glint"]
    expected = {"name": "glint", "base_url": url + "/v1", "wire_api": "responses"}
    assert found == {**expected, **({"env_key": "GLINT_API_KEY"} if env else {})}
    found = json.loads(re.search(r"^OPENCODE_CONFIG_CONTENT=(.*)$", opencode, re.M)[1])
    provider = found["provider"]["glint"]
    assert found["model"] == "glint/" + name and list(provider["models"]) == [name]
    assert provider["options"] == {"baseURL": url + "/v1",
                                   "apiKey": "{env:GLINT_API_KEY}" if env else "none"}


def main():
    with tempfile.TemporaryDirectory() as folder:
        with serving("-n", "8") as server:
            check(server, folder, None, "glimmer-mini")
        # A name that would do harm in a shell is not among what is pasted.
        harm = "x'; touch harm; '"
        with serving("-n", "8", "--alias", harm, "--api-key", "k 1", env={}) as server:
            check(server, folder, "k 1", "glint")
            assert not os.path.exists("harm")
        path = os.path.join(folder, "glint.sock")
        server = Server("--host", path, "-n", "8", wait=False)
        server.read_until("twice at once")
        run_curl("".join(server.lines))
        status, said = server.stop()
        assert status == 0, said


if __name__ == "__main__":
    main()
