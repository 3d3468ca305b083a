# syntax=docker/dockerfile:1
# docker build --target cpu -t sparring:0.1.0 .
# docker build --target gpu -t sparring:0.1.0-gpu .
ARG PYTHON=3.11-slim-bookworm

# The wheels of requirements.lock, each by its hash, and the product.
FROM python:${PYTHON} AS built
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/sparring
ENV PATH=/opt/sparring/bin:$PATH
WORKDIR /source
COPY requirements.lock pyproject.toml README.md LICENSE THIRD_PARTY_NOTICES.md ./
RUN pip install --require-hashes --no-deps -r requirements.lock
COPY app ./app
COPY deployments ./deployments
COPY train ./train
RUN pip install --no-deps .

# What both images have: no compiler, no source, a user without rights.
FROM python:${PYTHON} AS base
RUN apt-get update && apt-get install -y --no-install-recommends curl tini && rm -rf /var/lib/apt/lists/*
RUN groupadd --gid 1000 sparring && useradd --uid 1000 --gid 1000 --create-home sparring
ENV PATH=/opt/sparring/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 SPARRING_HOME=/var/lib/sparring
RUN install -d -o sparring -g sparring /var/lib/sparring
WORKDIR /srv/sparring
COPY configs ./configs
COPY serve_config.yaml ./
EXPOSE 36390 8000
USER 1000:1000
ENTRYPOINT ["tini", "--"]
CMD ["serve", "run", "serve_config.yaml"]

FROM base AS cpu
COPY --from=built /opt/sparring /opt/sparring

# Another build of the same torch, which brings its own CUDA; TORCH_OPTIONS name where pip finds it.
FROM built AS built-gpu
ARG TORCH_OPTIONS=""
RUN pip install --force-reinstall ${TORCH_OPTIONS} "torch==2.13.0"

FROM base AS gpu
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
COPY --from=built-gpu /opt/sparring /opt/sparring
