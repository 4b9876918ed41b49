#!/usr/bin/env bash
# A private Slurm: Debian's packages unpacked into a folder of their own, daemons in namespaces of their own.
#
#   lab.sh install CACHE ROOT   unpacks the packages once; later calls find them
#   lab.sh enter ROOT           (pid 1 of fresh namespaces) mounts, changes root, then obeys stdin
#   lab.sh obey                 (inside the root) the shell that obeys stdin
#   lab.sh within PID [-u USER] COMMAND…   (on the host) runs a command in the lab whose pid 1 that is
#
# Nothing is installed on the host, no maintainer script runs, and every Slurm process ends with pid 1.
set -euo pipefail

suite=${LAB_SUITE:-trixie} # trixie has Slurm 24.11, sid has 26.05
packages='slurmctld slurmd slurm-client slurmrestd slurm-wlm-jwt-plugin slurmdbd mariadb-server-core mariadb-client-core
  base-passwd bash coreutils findutils sed grep gawk procps util-linux faketime libfaketime'
users='alice bob carol dave' # 1001 and up

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
  mkdir -p "$2"/{etc/slurm,var/log/slurm,var/spool/slurm,var/lib/mysql}
  cp "$2/usr/share/base-passwd/passwd.master" "$2/etc/passwd"
  cp "$2/usr/share/base-passwd/group.master" "$2/etc/group"
  # slurmrestd refuses to be root or SlurmUser.
  echo 'slurmrest:x:990:990::/nonexistent:/bin/false' >> "$2/etc/passwd"
  echo 'slurmrest:x:990:' >> "$2/etc/group"
  local id=1001 user
  for user in $users; do
    echo "$user:x:$id:$id::/tmp:/bin/bash" >> "$2/etc/passwd"
    echo "$user:x:$id:" >> "$2/etc/group"
    id=$((id + 1))
  done
  printf '127.0.0.1 localhost slurmhost\n' > "$2/etc/hosts"
  printf 'passwd: files\ngroup: files\nhosts: files\n' > "$2/etc/nsswitch.conf"
  chmod 1777 "$2/tmp"
  ldconfig -r "$2"
}

install() { # CACHE ROOT
  mkdir -p "$1"
  exec 9> "$1/lock"
  flock 9
  [ ! -e "$2/.ready" ] || return 0
  rm -rf "$2.new"
  download "$1/apt"
  unpack "$1/apt" "$2.new"
  rm -rf "$2"
  touch "$2.new/.ready"
  mv "$2.new" "$2"
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
  for d in etc/slurm var/log/slurm var/spool/slurm var/lib/mysql run tmp; do mount -t tmpfs tmpfs "$1/$d"; done
  if [ -n "${LAB_SLURM:-}" ]; then
    # At its own path: a Slurm knows where its plugins are.
    mkdir -p "$1/$LAB_SLURM"
    mount --rbind "$LAB_SLURM" "$1/$LAB_SLURM"
  fi
  printf '%s' "$LAB_RECIPE" > "$1/run/lab.sh"
  unset LAB_RECIPE
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

# Runs a command inside, as root or as somebody else; the clock is the lab's.
within() { # PID [-u USER] COMMAND…
  local pid=$1 user=() clock=() id slurm
  shift
  if [ "$1" = -u ]; then
    id=$(awk -F: -v name="$2" '$1 == name { print $3 }' "/proc/$pid/root/etc/passwd")
    [ -n "$id" ] || { echo "no user $2 in the lab" >&2; exit 2; }
    user=(-S "$id" -G "$id")
    shift 2
  fi
  mapfile -t clock < <(tr '\0' '\n' < "/proc/$pid/environ" | grep -E '^(FAKETIME|LD_PRELOAD)')
  slurm=$(tr '\0' '\n' < "/proc/$pid/environ" | sed -n 's/^LAB_SLURM=//p')
  exec nsenter -t "$pid" -m -p -u -i -n -r -w "${user[@]}" env -i -C /tmp PATH="${slurm:+$slurm/bin:$slurm/sbin:}/usr/sbin:/usr/bin" \
    LC_ALL=C TZ=UTC HOME=/tmp SLURM_CONF=/etc/slurm/slurm.conf "${clock[@]}" "$@"
}

# Keys of this lab alone: the daemons trust each other by one, and tokens by the other.
keys() {
  (umask 077 && head -c 1024 /dev/urandom > /etc/slurm/slurm.key && head -c 32 /dev/urandom > /etc/slurm/jwt_hs256.key)
}

# Starts a database and slurmdbd. An empty database takes seconds to make, so one is kept beside the packages.
accounting() {
  local i kept=/var/lib/mysql.empty
  (
    flock 9
    [ ! -e "$kept" ] || exit 0
    mariadb-install-db --no-defaults --user=root --datadir="$kept.new" --auth-root-authentication-method=normal \
      --skip-test-db > /var/log/slurm/mariadb-install.log 2>&1 && mv "$kept.new" "$kept"
  ) 9> /var/lib/mysql.lock
  cp -a "$kept/." /var/lib/mysql/
  mkdir -p /run/mysqld
  ln -sfn mysqld /run/mariadbd # where sid's client looks
  # --skip-ssl: a certificate of its own would cost 6 s.
  mariadbd --no-defaults --user=root --datadir=/var/lib/mysql --socket=/run/mysqld/mysqld.sock --pid-file=/run/mysqld/mysqld.pid \
    --skip-networking --skip-ssl --skip-log-bin --innodb-lock-wait-timeout=900 --innodb-flush-log-at-trx-commit=0 \
    --innodb-doublewrite=0 --innodb-buffer-pool-size=128M --innodb-log-file-size=16M > /var/log/slurm/mariadbd.log 2>&1 &
  for i in {1..400}; do [ ! -S /run/mysqld/mysqld.sock ] || break; sleep 0.1; done
  printf '%s\n' AuthType=auth/slurm AuthAltTypes=auth/jwt AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key DbdHost=slurmhost \
    DbdAddr=127.0.0.1 DbdPort=6819 SlurmUser=root LogFile=/var/log/slurm/slurmdbd.log PidFile=/run/slurm/slurmdbd.pid \
    StorageType=accounting_storage/mysql StorageHost=localhost StorageUser=root StorageLoc=slurm_acct > /etc/slurm/slurmdbd.conf
  chmod 600 /etc/slurm/slurmdbd.conf
  slurmdbd -D > /var/log/slurm/slurmdbd.out 2>&1 &
  for i in {1..400}; do
    ! sacctmgr -n show cluster > /dev/null 2>&1 || return 0
    sleep 0.1
  done
  tail -n 20 /var/log/slurm/mariadb*.log /var/log/slurm/slurmdbd.*
  return 1
}

# Starts slurmrestd on TCP (of these namespaces) and on a socket, which the host reaches as /proc/PID/root/run/rest/socket.
rest() { # PLUGINS (slurmdbd's fails to load where there is none)
  local i
  mkdir -p /run/rest
  chown slurmrest: /run/rest
  SLURM_JWT=daemon slurmrestd -u slurmrest -g slurmrest -a rest_auth/jwt -s "$1" 127.0.0.1:6820 unix:/run/rest/socket \
    > /var/log/slurm/slurmrestd.log 2>&1 &
  for i in {1..200}; do
    ! (exec 3<> /dev/tcp/127.0.0.1/6820) 2> /dev/null || return 0
    kill -0 $! 2> /dev/null || break
    sleep 0.1
  done
  tail -n 20 /var/log/slurm/slurmrestd.log
  return 1
}

# Programs that take so many of the lab's seconds; daemons run them without its clock.
sleepers() {
  local name seconds
  mkdir -p /run/sleep
  for name in $(grep -o '/run/sleep/[0-9]*' /etc/slurm/slurm.conf); do
    seconds=$((${name##*/} * 1000 / ${LAB_CLOCK:-1}))
    printf '#!/bin/bash\nunset LD_PRELOAD\nexec sleep %d.%03d\n' $((seconds / 1000)) $((seconds % 1000)) > "$name"
    chmod 755 "$name"
  done
}

# Starts the daemons. slurm.conf, gres.conf and the keys are there already.
boot() { # NODE…
  echo CgroupPlugin=disabled > /etc/slurm/cgroup.conf
  # A job runs until somebody writes its exit code; its pipe is named after it.
  printf '%s\n' '#!/bin/bash' 'p=/tmp/job.$SLURM_JOB_ID; mkfifo $p 2> /dev/null; read -r code < $p; exit $code' > /run/job
  # The same, but it doesn't listen to TERM.
  sed "2i trap '' TERM" /run/job > /run/stubborn
  chmod 755 /run/job /run/stubborn
  sleepers
  mkdir -p /var/spool/slurm/ctld
  start_ctld
  start_slurmds "$@"
  await_nodes
  if ! scontrol ping 2> /dev/null | grep -q UP || sinfo -h -N -o %T | grep -qE 'unk|\*|inval'; then
    grep -hE 'error|fatal' /var/log/slurm/slurmctld.log /var/log/slurm/slurmctld.out | tail -n 20
    tail -n 5 $(silent | sed 's!.*!/var/log/slurm/slurmd.&.log /var/log/slurm/slurmd.&.out!')
    sinfo -N -l
    return 1
  fi
}

# Nodes that have not registered.
silent() { sinfo -h -N -o '%N %T' 2> /dev/null | sed -nE 's/^(\S+) .*(unk|\*).*/\1/p' | sort -u; }

# Waits for every node. Now and then a slurmd registers nowhere and says nothing: it is started once more.
await_nodes() {
  local try i late
  for try in {1..4}; do
    for i in {1..100}; do
      late=$(silent)
      [ -n "$late" ] || return 0
      sleep 0.2
    done
    # shellcheck disable=SC2086
    stop_slurmds $late 2> /dev/null
    # shellcheck disable=SC2086
    start_slurmds $late
  done
}

start_ctld() {
  local i try
  for try in {1..5}; do
    slurmctld -D -i >> /var/log/slurm/slurmctld.out 2>&1 &
    for i in {1..400}; do
      ! scontrol ping 2> /dev/null | grep -q UP || return 0
      kill -0 $! 2> /dev/null || break
      sleep 0.2
    done
    # Of two daemons that start at once and want the same socket, the second dies of it.
    tail -n 2 /var/log/slurm/slurmctld.out | grep -q 'Unable to bind UNIX socket' || return 0
    sleep 0.5
  done
}

start_slurmds() { # NODE…
  local node
  for node; do mkdir -p "/var/spool/slurm/d.$node"; done
  [ $# = 0 ] || printf '%s\n' "$@" | xargs -P 4 -I{} sh -c 'slurmd -N {} > /var/log/slurm/slurmd.{}.out 2>&1'
}

# Starts the slurmd of a node that slurm.conf doesn't name; it tells slurmctld what it is.
start_dynamic() { # NODE WORDS
  local i
  mkdir -p "/var/spool/slurm/d.$1"
  slurmd -Z -N "$1" --conf "$2" > "/var/log/slurm/slurmd.$1.out" 2>&1
  for i in {1..100}; do
    ! scontrol show node "$1" > /dev/null 2>&1 || return 0
    sleep 0.1
  done
}

# Nobody's slurmd is of no use any more.
stop_deleted() { # NODE
  scontrol show node "$1" > /dev/null 2>&1 || [ ! -e "/run/slurm/slurmd.$1.pid" ] || stop_slurmds "$1" 2> /dev/null
}

# A node's slurmd dies without a word; its jobs' processes live on.
stop_slurmds() { # NODE…
  local node
  for node; do kill -KILL "$(cat "/run/slurm/slurmd.$node.pid")"; done
}

# A node's slurmd dies, and with it every job's script and the process that looks after it.
stop_nodes() { # NODE…
  local node pid
  stop_slurmds "$@"
  for node; do
    for pid in $(pgrep -f "/var/spool/slurm/d.$node/.*/slurm_script"); do kill -KILL "$(ps -o ppid= -p "$pid")" "$pid"; done
  done
}

# slurmctld saves its state, ends and starts anew.
restart_ctld() {
  local pid
  pid=$(cat /run/slurm/slurmctld.pid)
  kill -TERM "$pid"
  while kill -0 "$pid" 2> /dev/null; do sleep 0.05; done
  start_ctld
}

# How many main and backfill cycles there have been: MAIN BACKFILL.
cycles() {
  local first second count found=()
  while read -r first second count; do
    [ "$first $second" != 'Total cycles:' ] || found+=("$count")
  done < <(sdiag)
  main=${found[0]:-0} backfill=${found[1]:-0}
}

# What the queue shows, in `now`; whether something is about to come, in `soon`: a job's time, or the
# script of a job that has just started.
queue() {
  local id job name state start rest
  now='' soon=
  while read -r id job name state start rest; do
    now+="$id $state $rest;"
    # An external job has no script to wait for.
    [[ $state != RUNNING || $name == external ]] || [ -p "/tmp/job.$job" ] || soon=1
    [[ $rest != BeginTime* || $start == N/A ]] || [ $((start - EPOCHSECONDS)) -gt 4 ] || soon=1
  done < <(SLURM_TIME_FORMAT=%s squeue -h -a -r -o '%i %A %j %T %S %r %N')
}

# Waits until nothing moves: no job comes or goes, no node is about to answer, and both schedulers
# looked twice at what is there. On a busy machine the clock runs on while nobody gets anything done, so
# looks are counted as well as seconds. What backfill planned for those who waited is shown until it looks again.
waited=
settle() { # SECONDS
  local before=none now soon nodes main backfill main_from backfill_from since limit=$((SECONDS + $1)) looks=0 still=0
  while [ $SECONDS -lt $limit ] || [ $looks -lt 80 ]; do
    looks=$((looks + 1)) still=$((still + 1))
    queue
    nodes=$(sinfo -h -N -o %T)
    cycles
    if [ "$now" != "$before" ]; then
      before=$now main_from=$main backfill_from=$backfill since=$SECONDS still=0
      continue
    fi
    sleep 0.1
    [ -z "$soon" ] || continue
    [[ $nodes != *unk* && ${nodes//down\*/} != *'*'* ]] || continue
    [[ $now != *COMPLETING* && $now != *CONFIGURING* && $now != *STOPPED* ]] || continue
    [ $((main - main_from)) -ge 2 ] || continue
    # Whoever has no reason yet has not been looked at.
    [[ $now != *'PENDING None'* ]] || [ $((SECONDS - since)) -ge 10 -a $still -ge 8 ] || continue
    # Backfill doesn't look again where nothing has changed.
    if [[ $now == *PENDING* || -n $waited ]]; then
      [ $((backfill - backfill_from)) -ge 2 ] || [ $((SECONDS - since)) -ge 9 -a $still -ge 8 ] || continue
    fi
    waited=
    [[ $now != *PENDING* ]] || waited=1
    return 0
  done
  echo 'did not settle'
}

# Everything that there is to see, and the time.
look() {
  # What nodes show of their jobs is counted once a second at most; a change makes it be counted anew.
  scontrol update NodeName=ALL Comment=seen > /dev/null 2>&1
  date +%s.%N
  SLURM_TIME_FORMAT=%s scontrol -a -d -o show jobs
  echo --
  scontrol -a -d -o show nodes
}

# Runs a command once more where slurmctld, without a slurmdbd, answers with whatever error came last.
control() { # COMMAND…
  local said n
  for n in {1..20}; do
    said=$("$@" 2>&1)
    [[ $said == *'Resource temporarily unavailable'* ]] || break
    sleep 0.1
  done
  printf '%s\n' "$said"
}

# Lets a job's script end.
finish() { # JOB CODE
  local n=0
  [[ $(squeue -h -j "$1" -o %j 2> /dev/null) != external ]] || return 0
  until [ -p "/tmp/job.$1" ]; do
    [ $((n += 1)) -le 100 ] || return 0
    sleep 0.1
  done
  timeout 100 bash -c "echo $2 > /tmp/job.$1; rm -f /tmp/job.$1"
  # slurmctld hears of it a moment later.
  n=0
  while [[ $(squeue -h -j "$1" -o %T 2> /dev/null) == RUNNING ]]; do
    [ $((n += 1)) -le 100 ] || return 0
    sleep 0.1
  done
}

"$@"
