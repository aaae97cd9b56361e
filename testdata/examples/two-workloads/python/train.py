"""Training steps on synthetic data: a fixed seed, fixed shapes, a fixed number of steps, an NVTX range around each."""
import sys
import time

import torch
from torch import nn
from torch.cuda import nvtx

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 30
WARMUP, BATCH, LENGTH, WIDTH = 10, 8, 512, 1024

torch.manual_seed(0)
model = nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, 16, 4 * WIDTH, batch_first=True, dropout=0.0), 3).cuda()
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
tokens = torch.randn(BATCH, LENGTH, WIDTH).pin_memory()

for step in range(STEPS):
    if step == WARMUP:
        torch.cuda.synchronize()
        began = time.perf_counter()
    with nvtx.range("training_step"):
        x = tokens.to("cuda", non_blocking=True)
        with nvtx.range("forward"), torch.autocast("cuda", torch.bfloat16):
            loss = model(x).float().square().mean()
        with nvtx.range("backward"):
            loss.backward()
        with nvtx.range("optimizer"):
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
torch.cuda.synchronize()
# Printed after the last step: a number that is read in every step (.item()) stalls the GPU.
print(f"throughput: {(STEPS - WARMUP) * BATCH * LENGTH / (time.perf_counter() - began):.0f} tokens/s")
