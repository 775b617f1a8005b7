# kubelet-sim in a container, for CI that runs containers: docker build -t kubelet-sim .
# What it needs is installed while it is built; when it runs it needs no network.
ARG PYTHON=3.13

FROM python:${PYTHON}-slim AS build
COPY pyproject.toml README.md LICENSE /src/
COPY kubelet_sim /src/kubelet_sim
COPY plugins_examples /src/plugins_examples
RUN python -m venv /opt/kubelet-sim \
    && /opt/kubelet-sim/bin/pip install --no-cache-dir --disable-pip-version-check /src

FROM python:${PYTHON}-slim
LABEL org.opencontainers.image.title="kubelet-sim" \
      org.opencontainers.image.description="A kubelet's device manager without a cluster" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN groupadd --gid 65532 kubelet-sim \
    && useradd --uid 65532 --gid 65532 --create-home --shell /usr/sbin/nologin kubelet-sim
COPY --from=build /opt/kubelet-sim /opt/kubelet-sim
ENV PATH=/opt/kubelet-sim/bin:$PATH \
    PYTHONUNBUFFERED=1
# A plugin and its reports are mounted here.
WORKDIR /plugin
# A user other than root has no mount namespaces in a container as it is started by default: a plugin that looks for
# /var/lib/kubelet/device-plugins, and cannot be told otherwise, needs
#   --user 0 --cap-add SYS_ADMIN --security-opt apparmor=unconfined
# and one that is told its directory ({dir} or {socket} in its command) needs nothing.
USER 65532:65532
ENTRYPOINT ["kubelet-sim"]
CMD ["--help"]
