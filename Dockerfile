# syntax=docker/dockerfile:1
# docker build --target cpu -t sparring:0.1.0 .
# docker build --target gpu -t sparring:0.1.0-gpu .
ARG PYTHON=3.11-slim-bookworm

# The wheels of requirements.lock but torch, each by its hash, and the product.
FROM python:${PYTHON} AS built
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/sparring
ENV PATH=/opt/sparring/bin:$PATH
WORKDIR /source
COPY requirements.lock pyproject.toml README.md LICENSE THIRD_PARTY_NOTICES.md ./
RUN grep -v "^torch==" requirements.lock > others.lock && pip install --require-hashes --no-deps -r others.lock
COPY app ./app
COPY deployments ./deployments
COPY train ./train
RUN pip install --no-deps .

# torch without CUDA. PyPI's needs libraries that the lock does not hold, so it comes from PyTorch's own index.
FROM built AS built-cpu
ARG TORCH_OPTIONS="--index-url https://download.pytorch.org/whl/cpu"
RUN grep "^torch==" requirements.lock > torch.lock && pip install --require-hashes --no-deps ${TORCH_OPTIONS} -r torch.lock
RUN python -c "import torch"

# What both images have: no compiler, no source, a user without rights.
FROM python:${PYTHON} AS base
RUN apt-get update && apt-get install -y --no-install-recommends curl tini && rm -rf /var/lib/apt/lists/*
RUN groupadd --gid 1000 sparring && useradd --uid 1000 --gid 1000 --create-home sparring
ENV PATH=/opt/sparring/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 SPARRING_HOME=/var/lib/sparring RAY_worker_niceness=0
RUN install -d -o sparring -g sparring /var/lib/sparring
WORKDIR /srv/sparring
COPY configs ./configs
COPY serve_config.yaml ./
EXPOSE 36390 8000
USER 1000:1000
ENTRYPOINT ["tini", "--"]
CMD ["serve", "run", "serve_config.yaml"]

FROM base AS cpu
COPY --from=built-cpu /opt/sparring /opt/sparring

# torch with the CUDA that it asks for, which the lock does not hold.
FROM built AS built-gpu
ARG TORCH_OPTIONS=""
RUN pip install ${TORCH_OPTIONS} "torch==2.13.0"
RUN python -c "import sys, torch; sys.exit(None if torch.version.cuda else 'this torch has no CUDA')"

FROM base AS gpu
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
COPY --from=built-gpu /opt/sparring /opt/sparring
