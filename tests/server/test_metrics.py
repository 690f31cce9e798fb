# SPDX-License-Identifier: Apache-2.0
"""test_metrics.py: /metrics is Prometheus' text form to the letter, and its numbers are right."""
import subprocess

import exposition
from serving import PROGRAM, serving

VLLM = """num_requests_running num_requests_waiting num_preemptions_total prompt_tokens_total
    generation_tokens_total prefix_cache_queries_total prefix_cache_hits_total
    request_success_total spec_decode_num_drafts_total spec_decode_num_draft_tokens_total
    spec_decode_num_accepted_tokens_total time_to_first_token_seconds inter_token_latency_seconds
    request_time_per_output_token_seconds e2e_request_latency_seconds request_queue_time_seconds
    request_prefill_time_seconds request_decode_time_seconds request_inference_time_seconds
    request_prompt_tokens request_generation_tokens"""
LLAMACPP = """prompt_tokens_total prompt_seconds_total tokens_predicted_total
    tokens_predicted_seconds_total n_decode_total spec_decode_num_drafts_total
    spec_decode_num_draft_tokens_total spec_decode_num_accepted_tokens_total prompt_tokens_seconds
    predicted_tokens_seconds n_busy_slots_per_decode requests_processing requests_deferred"""


def scrape(server):
    status, headers, data = server.send("GET", "/metrics")
    assert status == 200
    assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    return exposition.read(data.decode())


def value(families, name, end="", **labels):
    [found] = [sample[2] for sample in families[name][1]
               if sample[0] == name + end and labels.items() <= sample[1].items()]
    return found


def foreign(families, prefix):
    return {name.removeprefix(prefix) for name in families if name.startswith(prefix)}


def check_own(server):
    before = scrape(server)
    assert not foreign(before, "vllm:") and not foreign(before, "llamacpp:")
    usages = [server.chat(f"Count to {i}", max_tokens=20 + i)["usage"] for i in range(3)]
    after = scrape(server)
    assert set(after) == set(before), "names do not come and go"
    for name, field in (("prompt", "prompt_tokens"), ("generated", "completion_tokens")):
        total = sum(usage[field] for usage in usages)
        histogram = f"glint_request_{name}_tokens"
        assert value(after, histogram, "_sum") == total > 0
        assert value(after, f"glint_{name}_tokens_total") == total
        assert value(after, histogram, "_count") == 3
        for sample, labels, count in after[histogram][1]:
            if sample.endswith("_bucket"):
                assert count == sum(u[field] <= float(labels["le"].replace("+", ""))
                                    for u in usages), labels
    for name in ("queue", "prefill", "decode", "time_to_first_token", "time_per_output_token",
                 "request"):
        assert value(after, f"glint_{name}_seconds", "_count") == 3, name
    parts = sum(value(after, f"glint_{n}_seconds", "_sum") for n in ("queue", "prefill", "decode"))
    whole = value(after, "glint_request_seconds", "_sum")
    assert abs(parts - whole) < 1e-6 * whole, (parts, whole)
    # One sequence alone and no drafter: each decode step brings it a token.
    gaps = value(after, "glint_inter_token_seconds", "_count")
    assert gaps == value(after, "glint_decode_steps_total") > 0
    assert value(after, "glint_inter_token_seconds", "_sum") <= whole


def check_compat():
    alias = 'a "b" \\c'
    with serving("--alias", alias, "--metrics-compat", "vllm,llamacpp", "--no-draft") as server:
        usage = server.chat("Hello", max_tokens=30)["usage"]
        usage_again = server.chat("Hello", max_tokens=30)["usage"]
        families = scrape(server)
    assert foreign(families, "vllm:") == set(VLLM.split())
    assert foreign(families, "llamacpp:") == set(LLAMACPP.split())
    for name in VLLM.split():
        for _, labels, _ in families["vllm:" + name][1]:
            assert labels["model_name"] == alias
    prompt = usage["prompt_tokens"] + usage_again["prompt_tokens"]
    said = usage["completion_tokens"] + usage_again["completion_tokens"]
    cached = usage_again["prompt_tokens_details"]["cached_tokens"]
    assert cached > 0
    assert value(families, "vllm:prompt_tokens_total") == prompt
    assert value(families, "vllm:prefix_cache_queries_total") == prompt
    assert value(families, "vllm:prefix_cache_hits_total") == cached
    assert value(families, "vllm:generation_tokens_total") == said
    assert value(families, "llamacpp:tokens_predicted_total") == said
    assert value(families, "llamacpp:prompt_tokens_total") == prompt - cached
    assert value(families, "llamacpp:n_busy_slots_per_decode") == 1
    ended = [value(families, "vllm:request_success_total", finished_reason=reason)
             for reason in ("stop", "length")]
    assert sum(ended) == 2 == value(families, "vllm:e2e_request_latency_seconds", "_count")
    with serving("--metrics-compat", "llamacpp") as server:
        families = scrape(server)
        assert foreign(families, "llamacpp:") and not foreign(families, "vllm:")
    for names in "", "vllm,", ",vllm", "sglang", "vllm llamacpp":
        done = subprocess.run([PROGRAM, "serve", "--metrics-compat", names], text=True,
                              stderr=subprocess.PIPE)
        assert done.returncode == 2 and f'found "{names}"' in done.stderr, done


def main():
    with serving("--no-draft") as server:
        check_own(server)
    check_compat()


if __name__ == "__main__":
    main()
