#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Everything on the GPU machine: run_all.sh TOKENIZER_DIR STATE_DIR OUT_DIR TRAIN_SECONDS DRAFTER_SECONDS
# Golden logits are computed on the CPU while the drafter trains.
tok=$1 state=$2 out=$3
python3 train.py "$tok" "$state" "$4" || exit 1
THREADS=3 python3 finish.py "$tok" "$state" "$out" &
python3 train_drafter.py "$tok" "$state" "$5"
wait
python3 finish.py "$tok" "$state" "$out"
touch "$out/done"
