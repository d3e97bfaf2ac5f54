# quintet with its models: scores without a network.
#     docker build -t quintet .
#     docker run --rm -v "$PWD:/data" quintet score FILE --task fact
#     docker run --rm -p 8765:8765 -e QUINTET_TOKEN=... quintet serve --host 0.0.0.0
FROM python:3.13-slim AS build
WORKDIR /quintet
COPY pyproject.toml README.md LICENSE ./
COPY src src
COPY weights weights
RUN python -m venv /opt/quintet \
 && /opt/quintet/bin/pip install --no-cache-dir ".[serve]" ./weights ./weights/reader ./weights/lm

FROM python:3.13-slim
COPY --from=build /opt/quintet /opt/quintet
RUN useradd --create-home quintet
USER quintet
ENV PATH=/opt/quintet/bin:$PATH QUINTET_OFFLINE=1
WORKDIR /data
EXPOSE 8765
ENTRYPOINT ["quintet"]
CMD ["--help"]
