# opencode as a server that Switchyard calls.
FROM node:24.21.0-trixie-slim
RUN npm install --global --no-audit --no-fund opencode-ai@1.18.33 \
  && apt-get update \
  && apt-get install -y --no-install-recommends ca-certificates git ripgrep tini \
  && rm -rf /var/lib/apt/lists/*
USER node
WORKDIR /home/node
EXPOSE 4096
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/bin/tini", "--", "opencode"]
CMD ["serve", "--hostname", "0.0.0.0", "--port", "4096"]
