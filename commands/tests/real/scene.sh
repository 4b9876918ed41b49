# Sets the scene inside the lab: accounts, jobs in every state, nodes out of service, reservations.
sacctmgr -i add account physics,chem > /dev/null
for user in alice carol root; do sacctmgr -i add user $user account=physics; done > /dev/null
for user in bob dave; do sacctmgr -i add user $user account=chem; done > /dev/null
sacctmgr -i add qos high priority=100 > /dev/null
sacctmgr -i modify account physics,chem set qos=normal,high > /dev/null
cd /tmp
submit() { # USER sbatch's options
  local user=$1; shift
  sbatch --parsable --uid="$user" --gid="$user" -o /dev/null "$@"
}
sleeps() { submit "$@" --wrap 'sleep 3000'; }
# Waits until these jobs run: who starts first must not depend on how fast this machine is.
running() {
  local i
  for i in {1..300}; do
    [ "$(squeue -h -j "$1" -t R | wc -l)" != "$2" ] || return 0
    sleep 0.2
  done
  echo "jobs $1 do not run"
}
sleeps alice -J run1 -n4 --mem=1000 -t 1:00:00 --comment='a comment here'
sleeps alice -J a_very_long_job_name -N2 -n8 --mem=2000 -t 10
sleeps bob -J gpujob -p gpu --gres=gpu:a100:2 -n2 -t 2:00:00
sleeps carol -J gpus -p gpu --gpus=1 -t 30 -q high
running 1,2,3,4 4
sleeps dave -J arr --array=1-20%2 -n8 -N1 --mem=4000 -t 15
running 5 2
sleeps alice -J bigone -N6 --exclusive -t 1-12:00:00
sleeps bob -J dep -d afterok:1 -n1 --mem=10
sleeps bob -J held -H -n2 --mem=10 -t UNLIMITED -p long
sleeps carol -J later -b now+1hour --mem=10
sleeps carol -J lic -L matlab:2,fluent --mem=100 -t 5
sleeps bob -J feat -w n005 -n2 --mem=100 -x n001
sleeps bob -J cons -C 'fast&ib' -n1 --mem=100 --tmp=10 -c 2 --nice=50
sleeps root -J rooty -p admin --mem=100
sleeps carol -J excl -p excl -t 20
sleeps carol -J dn -p closed -t 20 --mem=10
submit alice -J quick --mem=10 --wrap 'exit 0'
submit alice -J failed --mem=10 --wrap 'exit 3'
sleeps bob -J multi -p main,long -n64
sleep 4
scontrol update nodename=g2 state=drain reason='bad GPU fan'
scontrol update nodename=n004 state=down reason='no power, will be fixed'
scontrol update nodename=n003 state=drain reason='kernel'
scontrol create reservation reservationname=maint starttime=now+2hours duration=60 nodes=g2 users=root flags=maint,ignore_jobs
scontrol create reservation reservationname=class starttime=now duration=120 nodes=n005 accounts=physics flags=ignore_jobs
sleeps alice -J inres --reservation=class --mem=50 -t 10
scontrol suspend 3
sleep 3
scancel -n multi
sleep 1
echo set
