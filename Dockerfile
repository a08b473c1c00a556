FROM swift:6.2-bookworm AS build
WORKDIR /srv/tenure
RUN apt-get update \
    && apt-get install --yes --no-install-recommends \
        libcurl4-openssl-dev libjs-chart.js libmicrohttpd-dev libpq-dev librdkafka-dev libssl-dev pkg-config zlib1g-dev \
    && rm --recursive --force /var/lib/apt/lists/*
COPY . .
RUN swift build --configuration release --static-swift-stdlib --traits Kafka --product tenure \
    && cp "$(swift build --configuration release --static-swift-stdlib --show-bin-path)/tenure" /usr/local/bin/tenure

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends \
        ca-certificates libcurl4 libmicrohttpd12 libpq5 librdkafka1 libssl3 tzdata zlib1g \
    && rm --recursive --force /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /var/lib/tenure --create-home tenure
COPY --from=build /usr/local/bin/tenure /usr/local/bin/tenure
ENV TENURE_HOME=/var/lib/tenure
WORKDIR /etc/tenure
USER tenure
EXPOSE 8080 8081
ENTRYPOINT ["tenure"]
CMD ["serve", "--listen", "0.0.0.0:8080", "--reports-listen", "0.0.0.0:8081"]
