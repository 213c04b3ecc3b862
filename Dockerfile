# syntax=docker/dockerfile:1
# The image of `reprise`: `docker build .`, or `make image`. Both stages stand on the same base, so that the environment which
# the first one makes fits the second. Another base with the same Python: --build-arg BASE=...
ARG BASE=docker.io/library/python:3.11-slim-bookworm

FROM ${BASE} AS build
# A package index other than pip's own choice; it is not kept in the image.
ARG PIP_INDEX_URL
ENV PIP_CACHE_DIR=/var/cache/pip PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /source
RUN python3 -m venv /build && python3 -m venv --without-pip /opt/reprise
COPY requirements/build.txt requirements/runtime.txt requirements/
# Only what is locked by hash, and only as wheels: nothing is compiled.
RUN --mount=type=cache,target=/var/cache/pip \
    /build/bin/pip install --no-compile --require-hashes --only-binary :all: -r requirements/build.txt && \
    /build/bin/pip --python /opt/reprise/bin/python install --require-hashes --only-binary :all: -r requirements/runtime.txt
COPY pyproject.toml README.md CHANGELOG.md LICENSE ./
COPY scheduler scheduler
RUN /build/bin/pip wheel --no-index --no-deps --no-build-isolation --wheel-dir /wheels . && \
    /build/bin/pip --python /opt/reprise/bin/python install --no-index --no-deps /wheels/*.whl && \
    /build/bin/pip --python /opt/reprise/bin/python check

FROM ${BASE}
# Nothing in the image can install anything.
RUN rm -rf /usr/local/lib/python3*/site-packages/* /usr/local/lib/python3*/ensurepip /usr/local/bin/pip* \
    /usr/lib/python3*/ensurepip /usr/share/python-wheels /usr/lib/python3/dist-packages/*
COPY --from=build /opt/reprise /opt/reprise
ARG VERSION=0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="reprise" \
      org.opencontainers.image.description="A second scheduler for Kubernetes: kube-scheduler's rules, and a batch cache that stays exact while it is reused" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
ENV PATH=/opt/reprise/bin:/usr/local/bin:/usr/bin:/bin PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
WORKDIR /
USER 65532:65532
EXPOSE 10259
ENTRYPOINT ["reprise"]
