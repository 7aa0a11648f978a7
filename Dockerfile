# graphir on a CPU, from a clone:
#     docker build -t graphir .
#     docker run --rm -u "$(id -u):$(id -g)" -v "$PWD:/models" graphir convert model-symbol.json model.onnx --verify
ARG PYTHON_IMAGE=python:3.13.9-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
COPY . /source
RUN python -m venv /opt/graphir \
    && /opt/graphir/bin/pip install --no-cache-dir --no-compile \
        "/source[cpu,images,keras,memory]"

FROM ${PYTHON_IMAGE}
COPY --from=build /opt/graphir /opt/graphir
RUN useradd --create-home --uid 10001 graphir
ENV PATH=/opt/graphir/bin:$PATH
USER 10001
WORKDIR /models
ENTRYPOINT ["graphir"]
CMD ["--help"]
