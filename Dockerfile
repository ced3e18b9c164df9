# `clew serve` for others: docs/deploy.md says how it is run. Nothing is fetched when it runs.
FROM python:3.13-slim AS build
WORKDIR /src
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels ./models .

FROM python:3.13-slim
# Servers are named here, too: `docker build --build-arg EXTRAS=documents .` makes a small one.
ARG EXTRAS=all,neo4j,qdrant
RUN --mount=type=bind,from=build,source=/,target=/build \
    pip install --no-cache-dir --constraint /build/src/constraints.txt \
      /build/wheels/clew_models-*.whl "$(echo /build/wheels/clew-*.whl)[${EXTRAS}]" \
    && useradd --system --uid 10001 --home-dir /var/lib/clew clew \
    && install --directory --owner clew --group clew --mode 0700 /var/lib/clew /etc/clew
ENV CLEW_STORE=/var/lib/clew \
    CLEW_NEO4J__LOCAL=/var/lib/clew/servers \
    CLEW_SERVE__HOST=0.0.0.0
USER 10001
# clew.toml, with tokens and names, is looked for here.
WORKDIR /etc/clew
VOLUME /var/lib/clew
EXPOSE 8766
# Any answer will do: the name by which it is asked here need not be one of those allowed.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["python", "-c", \
  "from http.client import HTTPConnection as C; c = C('127.0.0.1', 8766, timeout=4); c.request('GET', '/ui/login'); c.getresponse()"]
ENTRYPOINT ["clew"]
CMD ["serve"]
