#!/bin/sh
# Gives a command the variables by which torchrun's programs know their place, taken from what mpirun, srun or horovodrun says:
#
#   mpirun -np 4 mpirun-scripts/rank-env.sh COMMAND...
#   mpirun-scripts/horovodrun -np 4 mpirun-scripts/rank-env.sh COMMAND...
#   srun --mpi=pmix -n4 mpirun-scripts/rank-env.sh COMMAND...
#
# For commands that read them, a script in another language for example: hvd itself asks MPI. They are RANK, WORLD_SIZE,
# LOCAL_RANK, LOCAL_WORLD_SIZE; GROUP_RANK, the number of the host, where hosts are filled one after the other with
# equally many ranks, or Slurm tells it; MASTER_ADDR where all ranks are on one host, MASTER_PORT, unless they are set;
# TORCHELASTIC_RUN_ID, TORCHELASTIC_RESTART_COUNT and TORCHELASTIC_MAX_RESTARTS, which are 0 without horovodrun --restarts.

[ $# -gt 0 ] || { echo "rank-env.sh: name the command to start: mpirun -np 4 $0 COMMAND" >&2; exit 2; }

# Open MPI 4 and 5; MPICH and Intel MPI; horovodrun --gloo; srun.
RANK=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${HOROVOD_RANK:-${SLURM_STEP_ID:+${SLURM_PROCID-}}}}}
WORLD_SIZE=${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-${HOROVOD_SIZE:-${SLURM_STEP_NUM_TASKS:-}}}}
LOCAL_RANK=${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-${HOROVOD_LOCAL_RANK:-${SLURM_LOCALID:-}}}}
LOCAL_WORLD_SIZE=${OMPI_COMM_WORLD_LOCAL_SIZE:-${MPI_LOCALNRANKS:-${HOROVOD_LOCAL_SIZE:-}}}
if [ -z "$RANK" ] || [ -z "$WORLD_SIZE" ] || [ -z "$LOCAL_RANK" ]; then
    echo "rank-env.sh: neither mpirun nor srun has started this: mpirun -np 4 $0 $*" >&2
    exit 2
fi

unset GROUP_RANK
if [ -z "${OMPI_COMM_WORLD_RANK:-}${PMI_RANK:-}${HOROVOD_RANK:-}" ]; then
    # Slurm writes 2(x3),1 for hosts with 2, 2, 2 and 1 tasks; where all have equally many there is one number.
    case ${SLURM_STEP_TASKS_PER_NODE:-} in
        "" | *,*) ;;
        *) LOCAL_WORLD_SIZE=${SLURM_STEP_TASKS_PER_NODE%%(*} ;;
    esac
    GROUP_RANK=${SLURM_NODEID:-}
elif [ -n "$LOCAL_WORLD_SIZE" ] && [ $((WORLD_SIZE % LOCAL_WORLD_SIZE)) = 0 ] \
    && [ $(((RANK - LOCAL_RANK) % LOCAL_WORLD_SIZE)) = 0 ]; then
    GROUP_RANK=$(((RANK - LOCAL_RANK) / LOCAL_WORLD_SIZE))
fi

export RANK WORLD_SIZE LOCAL_RANK
[ -z "$LOCAL_WORLD_SIZE" ] || export LOCAL_WORLD_SIZE
[ -z "${GROUP_RANK:-}" ] || export GROUP_RANK
[ "$LOCAL_WORLD_SIZE" != "$WORLD_SIZE" ] || export MASTER_ADDR="${MASTER_ADDR:-127.0.0.1}"
export MASTER_PORT="${MASTER_PORT:-29500}"
export TORCHELASTIC_RUN_ID="${TORCHELASTIC_RUN_ID:-${SLURM_JOB_ID:-${PMIX_NAMESPACE:-none}}}"
export TORCHELASTIC_RESTART_COUNT="${TORCHELASTIC_RESTART_COUNT:-0}"
export TORCHELASTIC_MAX_RESTARTS="${TORCHELASTIC_MAX_RESTARTS:-0}"
exec "$@"
