#!/usr/bin/env bash
# A private Slurm: Debian's packages unpacked into a folder of their own, daemons in namespaces of their own.
#
#   lab.sh install CACHE        unpacks the packages once; later calls find them
#   lab.sh enter ROOT           (pid 1 of fresh namespaces) mounts, changes root, then obeys stdin
#   lab.sh obey                 (inside the root) the shell that obeys stdin
#
# Nothing is installed on the host, no maintainer script runs, and every Slurm process ends with pid 1.
set -euo pipefail

suite=trixie
packages='slurmctld slurmd slurm-client bash coreutils findutils sed grep gawk procps faketime libfaketime'

# The mirror that the host's apt already uses: none is written down here.
mirror() {
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -v security | head -1
}

apt_conf() { # FOLDER
  cat <<X
Dir::State "$1/state"; Dir::State::status "$1/dpkg/status"; Dir::Cache "$1/cache"; Dir::Etc "$1/etc";
APT::Install-Recommends "false"; APT::Sandbox::User "root"; Acquire::Languages "none"; Acquire::PDiffs "false";
Acquire::Check-Valid-Until "false"; Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
X
}

download() { # FOLDER
  mkdir -p "$1"/{state/lists/partial,cache/archives/partial,etc/apt.conf.d,etc/preferences.d,etc/sources.list.d,dpkg}
  : > "$1/dpkg/status"
  local uri key=/usr/share/keyrings/debian-archive-keyring.gpg
  uri=${DEBIAN_MIRROR:-$(mirror)}
  [ -n "$uri" ] || { echo "apt on this host names no mirror" >&2; return 1; }
  echo "deb [signed-by=$key] $uri $suite main" > "$1/etc/sources.list"
  apt_conf "$1" > "$1/apt.conf"
  APT_CONFIG=$1/apt.conf apt-get -qq update
  # shellcheck disable=SC2086
  APT_CONFIG=$1/apt.conf apt-get -qq -y --download-only install $packages > /dev/null
}

unpack() { # FOLDER ROOT
  local d
  mkdir -p "$2"/usr/{bin,sbin,lib,lib64} "$2"/{proc,sys,dev,tmp,root,run,var/lib,home}
  for d in bin sbin lib lib64; do ln -sfn "usr/$d" "$2/$d"; done
  printf '%s\n' "$1"/cache/archives/*.deb | xargs -P "$(nproc)" -I{} sh -c \
    'dpkg-deb --fsys-tarfile "$1" | tar -x --keep-directory-symlink -C "$2" --exclude=./usr/share/doc --exclude=./usr/share/man --exclude=./usr/share/locale --exclude=./usr/share/info' _ {} "$2"
  [ -e "$2/usr/bin/sh" ] || ln -s bash "$2/usr/bin/sh"
  for d in slurmctld slurmd slurmstepd; do
    [ -e "$2/usr/sbin/$d" ] || ln -s "$d-wlm" "$2/usr/sbin/$d"
  done
  mkdir -p "$2"/{etc/slurm,var/log/slurm,var/spool/slurm}
  cp "$2/usr/share/base-passwd/passwd.master" "$2/etc/passwd"
  cp "$2/usr/share/base-passwd/group.master" "$2/etc/group"
  local id=1001 user
  for user in alice bob carol dave; do
    echo "$user:x:$id:$id::/tmp:/bin/bash" >> "$2/etc/passwd"
    echo "$user:x:$id:" >> "$2/etc/group"
    id=$((id + 1))
  done
  printf '127.0.0.1 localhost slurmhost\n' > "$2/etc/hosts"
  printf 'passwd: files\ngroup: files\nhosts: files\n' > "$2/etc/nsswitch.conf"
  chmod 1777 "$2/tmp"
  ldconfig -r "$2"
}

install() { # CACHE
  mkdir -p "$1"
  exec 9> "$1/lock"
  flock 9
  [ ! -e "$1/root/.ready" ] || return 0
  rm -rf "$1/root.new"
  download "$1/apt"
  unpack "$1/apt" "$1/root.new"
  rm -rf "$1/root"
  touch "$1/root.new/.ready"
  mv "$1/root.new" "$1/root"
  rm -rf "$1/apt"
}

enter() { # ROOT
  mount --make-rprivate /
  hostname slurmhost
  # Its own network: any number of them may use the same ports.
  # The second address is for getaddrinfo, which finds nobody where there is only 127.0.0.1.
  if command -v ip > /dev/null; then
    ip link set lo up
    ip addr add 10.0.0.1/32 dev lo
  else
    ifconfig lo up
    ifconfig lo:0 10.0.0.1 netmask 255.255.255.255
  fi
  mount --bind "$1" "$1"
  mount -t proc proc "$1/proc"
  mount --rbind /dev "$1/dev"
  mount -t tmpfs tmpfs "$1/dev/shm"
  mount --rbind /sys "$1/sys"
  local d
  for d in etc/slurm var/log/slurm var/spool/slurm run tmp; do mount -t tmpfs tmpfs "$1/$d"; done
  if [ -n "${LAB_SLURM:-}" ]; then
    # At its own path: a Slurm knows where its plugins are.
    mkdir -p "$1/$LAB_SLURM"
    mount --rbind "$LAB_SLURM" "$1/$LAB_SLURM"
  fi
  cat "$0" > "$1/run/lab.sh"
  local clock=()
  [ "${LAB_CLOCK:-1}" = 1 ] || clock=(faketime -m -f "+0 x$LAB_CLOCK")
  exec chroot "$1" "${clock[@]}" /bin/bash /run/lab.sh obey
}

# Runs what comes in, one NUL-ended script at a time, and ends each answer with a NUL.
obey() {
  set +eu
  export PATH=${LAB_SLURM:+$LAB_SLURM/bin:$LAB_SLURM/sbin:}/usr/sbin:/usr/bin LC_ALL=C TZ=UTC HOME=/tmp
  export SLURM_CONF=/etc/slurm/slurm.conf
  ulimit -n 20000
  mkdir -p /run/slurm
  local script
  while IFS= read -r -d '' script; do
    eval "$script" 2>&1 < /dev/null
    printf '\0'
  done
}

# Starts the daemons. slurm.conf and gres.conf are there already.
boot() { # NODE…
  dd if=/dev/urandom of=/etc/slurm/slurm.key bs=1024 count=1 status=none
  chmod 600 /etc/slurm/slurm.key
  echo CgroupPlugin=disabled > /etc/slurm/cgroup.conf
  # A job runs until somebody writes its exit code; its pipe is named after it.
  printf '%s\n' '#!/bin/bash' 'p=/tmp/job.$SLURM_JOB_ID; mkfifo $p 2> /dev/null; read -r code < $p; exit $code' > /run/job
  chmod 755 /run/job
  mkdir -p /var/spool/slurm/ctld
  slurmctld -D -i > /var/log/slurm/slurmctld.out 2>&1 &
  local i node
  for i in {1..400}; do
    scontrol ping 2> /dev/null | grep -q UP && break
    kill -0 $! 2> /dev/null || break
    sleep 0.2
  done
  for node; do mkdir -p "/var/spool/slurm/d.$node"; done
  printf '%s\n' "$@" | xargs -P 4 -I{} sh -c 'slurmd -N {} > /var/log/slurm/slurmd.{}.out 2>&1'
  for i in {1..400}; do
    sinfo -h -N -o %T 2> /dev/null | grep -qE 'unk|\*' || break
    sleep 0.2
  done
  if ! scontrol ping 2> /dev/null | grep -q UP || sinfo -h -N -o %T | grep -qE 'unk|\*|inval'; then
    grep -hE 'error|fatal' /var/log/slurm/slurmctld.log /var/log/slurm/slurmctld.out /var/log/slurm/slurmd.*.log | tail -n 20
    sinfo -N -l
    return 1
  fi
  echo booted
}

# How many main and backfill cycles there have been: MAIN BACKFILL.
cycles() {
  local first second count found=()
  while read -r first second count; do
    [ "$first $second" != 'Total cycles:' ] || found+=("$count")
  done < <(sdiag)
  main=${found[0]:-0} backfill=${found[1]:-0}
}

# Waits until nothing moves: no job comes or goes, and both schedulers looked twice at what is there.
settle() { # SECONDS
  local before=none now main backfill main_from backfill_from since limit=$((SECONDS + $1))
  while [ $SECONDS -lt $limit ]; do
    now=$(squeue -h -a -r -o '%i %T %r %N')
    cycles
    if [ "$now" != "$before" ]; then
      before=$now main_from=$main backfill_from=$backfill since=$SECONDS
      continue
    fi
    sleep 0.1
    [[ $now != *COMPLETING* && $now != *CONFIGURING* && $now != *STOPPED* ]] || continue
    [ $((main - main_from)) -ge 2 ] || continue
    # Whoever has no reason yet has not been looked at.
    [[ $now != *'PENDING None'* ]] || [ $((SECONDS - since)) -ge 10 ] || continue
    if [[ $now == *PENDING* ]]; then
      [ $((backfill - backfill_from)) -ge 2 ] || [ $((SECONDS - since)) -ge 3 ] || continue
    fi
    return 0
  done
  echo "did not settle within $1 s"
}

# Everything that there is to see, and the time.
look() {
  # What nodes show of their jobs is counted once a second at most; a change makes it be counted anew.
  scontrol update NodeName=ALL Comment=seen > /dev/null 2>&1
  date +%s.%N
  scontrol -a -d -o show jobs
  echo --
  scontrol -a -d -o show nodes
}

# Lets a job's script end.
finish() { # JOB CODE
  local n=0
  until [ -p "/tmp/job.$1" ]; do
    [ $((n += 1)) -le 100 ] || return 0
    sleep 0.1
  done
  timeout 100 bash -c "echo $2 > /tmp/job.$1; rm -f /tmp/job.$1"
}

"$@"
