# One file for the three services: `--build-arg SERVICE=producer|consumer|payments`. `make images` gives all arguments.
#
# No `syntax` line: it would fetch a frontend by a tag at each build, and all that is used here is in the frontend that
# Docker (20.10 and newer) and buildah bring along.
#
# BINARIES  source:   compiled here, for the target platform, on the build machine's own processor (no emulation)
#           prebuilt: taken from .cache/images/OS-ARCH/SERVICE, no builder image needed
# BASE      what the runtime stage stands on: glibc, libgcc and CA roots, without a shell. Anything of the same content can
#           stand in for it offline.
ARG BINARIES=source
ARG BUILDER=docker.io/library/rust:1.94.1-slim-bookworm@sha256:cf9dd0ec73e75f827fe59123fff9dc65af1a1c8363c3c31ee8d7f8ad0b6a5fb2
ARG BASE=gcr.io/distroless/cc-debian12:nonroot@sha256:9dac0a79194e45a7da0158a9c6da57b217585af0786db3845d1f0ec1a0dd182f

FROM --platform=$BUILDPLATFORM ${BUILDER} AS source
# A C compiler and libc for the other architecture; the TLS library has C and assembly in it, and the allocator is C that is
# built by make. Versions follow the pinned image's Debian release.
RUN case "$(dpkg --print-architecture)" in \
        amd64) other="gcc-aarch64-linux-gnu libc6-dev-arm64-cross" ;; \
        arm64) other="gcc-x86-64-linux-gnu libc6-dev-amd64-cross" ;; \
        *) echo "build on an amd64 or arm64 machine" >&2; exit 1 ;; \
    esac \
    && apt-get update \
    && apt-get install -y --no-install-recommends make $other \
    && rm -rf /var/lib/apt/lists/*
# Named for the target, so each is right whichever of the two machines builds. On the native one they are aliases of gcc.
ENV CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER=x86_64-linux-gnu-gcc \
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
    CC_x86_64_unknown_linux_gnu=x86_64-linux-gnu-gcc \
    CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc
WORKDIR /src
COPY . .
ARG SERVICE
ARG TARGETARCH
# The caches outlive the build: crates once a machine, compiled dependencies once for all three services (cargo keeps the
# targets apart). `locked`, because two jobs of one runner would spoil each other's target folder.
RUN --mount=type=cache,target=/usr/local/cargo/registry,sharing=locked \
    --mount=type=cache,target=/src/target,sharing=locked \
    case "$TARGETARCH" in \
        amd64) triple=x86_64-unknown-linux-gnu ;; \
        arm64) triple=aarch64-unknown-linux-gnu ;; \
        *) echo "no target for TARGETARCH='$TARGETARCH': build for linux/amd64 or linux/arm64" >&2; exit 1 ;; \
    esac \
    && [ -n "$SERVICE" ] || { echo "give --build-arg SERVICE=producer, consumer or payments" >&2; exit 1; } \
    && rustup target add "$triple" \
    && cargo build --release --locked --target "$triple" --package "$SERVICE" --bin "$SERVICE" \
    && install -D -m 0755 "target/$triple/release/$SERVICE" /out/service \
    && cargo tree --locked --target "$triple" --package "$SERVICE" --edges normal,no-proc-macro --prefix none --format '{p}|{l}' >/out/crates

FROM scratch AS prebuilt
ARG SERVICE
ARG TARGETOS
ARG TARGETARCH
# Without a name this would be the whole folder.
COPY .cache/images/${TARGETOS}-${TARGETARCH}/${SERVICE:-no-SERVICE-was-given} /out/service
COPY .cache/images/${TARGETOS}-${TARGETARCH}/${SERVICE}.crates /out/crates

FROM ${BINARIES} AS binaries

# Not part of the image: the crates that are linked into the binary, for its list of contents (`--target crates`).
FROM scratch AS crates
COPY --from=binaries /out/crates /crates

FROM ${BASE}
ARG SERVICE
ARG REVISION=unknown
ARG VERSION=unknown
COPY --from=binaries /out/service /service
# Numeric, so that Kubernetes can tell that it is not root. Any other non-root id works as well.
USER 65532:65532
EXPOSE 8080 9090
ENTRYPOINT ["/service"]
# Last, since they differ in each build and everything above does not. The service reports SERVICE_VERSION as its version.
LABEL org.opencontainers.image.title="${SERVICE}" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.version="${VERSION}"
ENV SERVICE_VERSION="${VERSION}"
