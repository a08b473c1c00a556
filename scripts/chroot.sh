# Shared by the scripts that try things on a bare Debian 12: makes one with debootstrap and puts the Swift toolchain of this
# machine into it. Needs root, debootstrap and a Debian mirror (DEBIAN_MIRROR names another than deb.debian.org).
# shellcheck shell=bash

suite=bookworm
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
chroots=()

if [ "$(id -u)" -ne 0 ]; then
    echo 'A chroot needs root: run this with sudo' >&2
    exit 1
fi
for program in debootstrap swift git; do
    command -v "$program" >/dev/null || { echo "$program is missing" >&2; exit 1; }
done

# The toolchain's own needs; what the project needs is left to what is tried.
# shellcheck disable=SC2034 # for those who read this file in
toolchain_packages=binutils,ca-certificates,git,libc6-dev,libcurl4,libedit2,libgcc-12-dev,libncurses6,libsqlite3-0,libstdc++-12-dev,libxml2,tzdata
toolchain=$(dirname "$(dirname "$(dirname "$(readlink --canonicalize "$(command -v swift)")")")")

remove_chroots() {
    local chroot place
    for chroot in "${chroots[@]}"; do
        for place in toolchain dev proc; do
            ! mountpoint --quiet "$chroot/$place" || umount --recursive "$chroot/$place"
        done
        rm --recursive --force --one-file-system "$chroot" "$chroot.log"
    done
}
trap remove_chroots EXIT

make_chroot() { # PACKAGES: sets $chroot to a new one
    chroot=$(mktemp --directory --tmpdir="${TMPDIR:-/var/tmp}" tenure-chroot-XXXXXX)
    chroots+=("$chroot")
    chmod 755 "$chroot"
    echo "making a Debian $suite in $chroot from $mirror"
    debootstrap --variant=minbase ${1:+--include="$1"} "$suite" "$chroot" "$mirror" >"$chroot.log" ||
        { tail --lines 20 "$chroot.log" >&2; exit 1; }
    # How this machine reaches its mirrors.
    cp /etc/resolv.conf "$chroot/etc/resolv.conf"
    apt-config dump | grep --extended-regexp '^Acquire::(https?::Proxy|Check-)' >"$chroot/etc/apt/apt.conf.d/host" || true
    # And whom it trusts on the way.
    if [ -x "$chroot/usr/sbin/update-ca-certificates" ] && [ -d /usr/local/share/ca-certificates ]; then
        cp --recursive /usr/local/share/ca-certificates "$chroot/usr/local/share/"
        chroot "$chroot" update-ca-certificates >>"$chroot.log" 2>&1
    fi
    [ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$chroot/etc/pip.conf"
    mount --types proc proc "$chroot/proc"
    mount --rbind /dev "$chroot/dev"
    mount --make-rslave "$chroot/dev"
}

add_toolchain() {
    mkdir "$chroot/toolchain"
    mount --bind --options ro "$toolchain" "$chroot/toolchain"
}

# shellcheck disable=SC2034 # likewise
path=/toolchain/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
