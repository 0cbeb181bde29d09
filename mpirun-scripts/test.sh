#!/usr/bin/env bash
# The test suite on a bare Debian or Ubuntu: set-up, then what Maven's verify runs, the tests under mpirun included, but
# without the long tier and the Javadoc pages unless --all is given; then the small project of docs/own-trainer against the
# artifacts just installed, then the site of the pages if MkDocs is installed. At the end it says what was skipped and what
# was left out.
#
#   test.sh [--all] [ARGUMENT ...]
#   --all     the long tier too: hours, some of it as root only
#   ARGUMENT  of the first Maven call (test.sh -pl hvd-core)
set -euo pipefail

scripts="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" >/dev/null && pwd)"
root=$(dirname "$scripts")
# shellcheck source=mpirun-scripts/setup.sh
. "$scripts/setup.sh"

# The classes with tests that are tagged "long"; LongTierTest holds this list to the sources.
long_tier() {
    cat <<'EOF'
AutoResumeIT         killed and signalled trainings that go on with 8, 4 and 1 ranks
BenchmarksIT         every benchmark, with few samples
BundleIT             training from the bundle in a bare root folder (root)
BytesOnTheWireIT     bytes between two hosts (root)
CharLmIT             the language model on one rank
CifarIT              predictions of 4 ranks and of threads, one thread per process; threads of two processes
ContainersIT         the image of Dockerfile, built and run by podman (root, podman, buildah)
ContractHostsIT      the contract between two hosts (root)
CoordinatorSimulationTest 100,000 schedules of elastic jobs instead of 2,000, and what a regroup of 64 to 1,024 workers costs
CudaMlpIT            the trainer with its own kernels with Adam, with gradients in 16 bits, one rank with a launcher, and more ranks than GPUs on the CPU
DeadPeerIT           other ranks that are killed while others wait for them
DemosIT              the demonstrations as processes; the hang on two ranks runs every day
DifferentiableIT     gradients through collectives with 4 ranks, beside 2
DigitsTrainingIT     the example on one rank and on four, with gradients in 16 bits beside float32, and with Adasum on two ranks and on three, which is refused
DirectHostsIT        ranks on two hosts that ssh alone starts (root)
DivergenceIT         digits and mnist with a loss that is no number
DjlMnistIT           djl-mnist with 1 and 4 ranks
DoctorHostsIT        hvd-doctor between hosts (root)
ElasticDjlIT         a training of DJL's whose processes lose one
ElasticFaultsIT      elastic jobs whose processes are killed, stopped and ended at random times
ElasticHostsIT       an elastic job on three hosts, one of which loses its cable and gets it back (root)
ElasticIT            elastic jobs that lose ranks at other moments
EquivalenceIT        training on 4 ranks beside that on one
EvaluationIT         an evaluation whose figures every rank compares
ExplorerHostsIT      random programs between hosts (root)
ExplorerIT           random programs under mpirun for half an hour instead of 11 seconds
ExplorerTest         random programs with threads for 18 minutes instead of 5 seconds
FaultsIT             other numbers of ranks and other culprits than those of every day
ForeignMpiIT         the contract by foreign functions beside shared memory
FullDiskIT           checkpoints on a file system of a few mebibytes that is full (root, or namespaces of users)
FullSharedMemoryIT   a /dev/shm with little room (root)
GpuCheckAgainTest    calls of gpu-check.sh that wait for a limit, other reasons to repeat a check, and a record without a GPU
GpuCheckIT           gpu-check with one rank, without NCCL, and its times on the CPU
GpuCheckRehearsalIT  the whole of gpu-check.sh on a CUDA driver that runs on the CPU
GpuCheckScriptTest   other answers of programs to gpu-check.sh, and ways to share a GPU
GpuCheckTrainingsIT  the trainings of gpu-check.sh for two steps on a CPU
GpuCollectivesTest   two GPUs, and nodes whose ranks are side by side
HalfRunsTest         all 2^32 floats rounded to 16 bits
HangIT               other culprits in settled steps, rank 0 stopped in them, and calls without a name
HeldBySavesTest      for how long a save holds a training of LibTorch's
HorovodMnistIT       the example with callbacks under mpirun
HorovodrunIT         SIGTERM and SIGHUP beside SIGINT; ranks, and an mpirun, that answer no signal
HvdDoctorIT          the self-test of the script, beside that of the jar
HvdMonitorIT         hvd-monitor on a job of two processes
HydraIT             the contract under MPICH with 1 and 4 ranks, and the exit code of a rank
Ipv6HostsIT          hosts whose only addresses are of IPv6 (root)
JavaLineIT           other lines of java that horovodrun starts as typed
KilledWritersIT      200 processes that are killed while all of their ranks write, instead of 10
LargeCheckpointTest  checkpoints beyond 2^31 bytes
LargeCheckpointsTest  training beside a checkpoint of 3 GiB
LargeHandOverIT      an elastic job's hand-over of a shared-out state beyond 2^31 bytes, with 12 GB of memory
LargeStateTest       an optimizer's state beyond 2^31 bytes, with 8 GB of memory
LargeTensorTest      tensors beyond 2^31 bytes
LifecycleIT          init after a close, and other ways to end where others join again
ManyLivesIT          a hundred jobs of two processes instead of 25
ManyLivesTest        a hundred jobs in one JVM instead of 25
ManyRoundsIT         movements of many rounds with stages of other sizes
MixedPrecisionIT     mnist with autocast to float16 beside bfloat16, with bfloat16 on four ranks, and with PowerSGD and weights of 16 bits
MnistIT              images as a DataFrame on a standalone cluster of Spark, trained on and predicted
MpiContractIT        the contract with 8 ranks and with more settings, and all of it where every day has a part
MpiJobIT             the MPIJob as pods of podman's, with Open MPI 4.1 and 5.0 (root, podman, buildah)
NamespaceHostsIT     horovodrun between hosts (root)
NegotiationCostTest  what a negotiated step of 64 to 1,024 simulated ranks costs rank 0
NibabelIT            NIfTI files that Python's nibabel reads and writes
NoHangIT             known long work of one of two ranks, settled and negotiating, and beside a transfer by MPI
NumpyReferenceTest   reductions, metrics, reducers and 16-bit floats beside numpy, of values that Python has made
OverflowIT           an overflow on one of four ranks
PageCommandsIT       the training under plain mpirun that the pages show
ParquetMillionIT     a million rows of Parquet files on 4 processes of which one is killed, and on 3 that go on; how long the first batch takes
PodsIT               the files for Kubernetes without MPI as pods of podman's (root, podman, buildah)
ProgramGeneratorTest the ends of 500 random programs of each kind instead of 30
PythonSafetensorsIT  checkpoints, also of a series, that Python reads and writes (with its packages safetensors and torch)
QuickPresetsIT       imagenet, gan and char-lm with a transformer on two processes
ReportBrowserIT      a page of runs in Chromium, on a phone's screen and on a desk's
RepositoryIT         hvd deployed into a folder, and projects of Maven and Gradle that take it from there
RestartIT            a rank of digits that is killed, and --restarts, which starts the job again
ResumeIT             a resumed training whose optimizer state is shared out
ResumedCifarIT       cifar10 with synchronised batch norms, resumed
RingAllreduceTest    the bytes that two and four ranks send
ScheduleIT           the rates of a warm-up and of steps on 4 ranks, which threads have every day
ShardMemoryIT        the memory of 4 ranks that share a model out, beside those that have it whole
SharedCollectivesTest other numbers and orders of ranks on hosts, and rounds of two ranks
SlurmIT              two hosts of a real Slurm (root)
SmallTrainingsTest   images per second of residual nets
SoakIT               half an hour of training that must not need more and more memory
SparkGpuIT           a GPU of a worker, which a rank on Spark is given
SparkIT              50 jobs in a row on Spark, and an executor that is killed
StandstillTest       ranks as threads that stand still for a while and are no deadlock
StartIT              a folder that cannot be written, and mnist without files
StartWithoutMpiIT    ranks without MPI of which one is missing, stopped, of another size, or there twice
StrangersIT          other ports of Open MPI, and ranks that are threads
SyncBatchNormIT      synchronised batch norms under mpirun, which threads have every day
SyncedResNetIT       a ResNet-18 whose batch norms are synchronised, on 4 ranks and threads beside one rank
TensorBoardIT        TensorBoard's own reader of event files (with Python's package tensorboard)
TextCnnIT            the preset of textcnn to nine of ten topics, on 1, 2 and 4 ranks, with rows, and on two devices
ThreadsIT            digits with threads of two processes
ThreadsOnGpusTest    kernels of two ranks beside one that allocates
TorchColdCacheIT     rank threads that find LibTorch prepared
TorchReferenceTest   optimizers, clipping, schedules, samplers and batch norms beside torch, of values that Python has made
TorchTensorsTest     LibTorch's tensors beyond 2^31 bytes
UNetIT               the 3-D UNet on 1, 2 and 4 ranks, with a mean Dice of 0.8, and its evaluation on 3
WithoutProcIT        digits where /proc, /sys and /dev/shm are empty (root)
EOF
}

# The skips since a time in seconds, as io.hvd.testing.SkippedTests writes them down: how many tests, and why.
skips() {
    find "$root" -path '*/target/skipped.txt' -exec cat {} + \
        | awk -F '\t' -v began="$1" '$1 >= began { tests[$3] += $2 } END { for (why in tests) print tests[why] "\t" why }' \
        | sort -rn
}

say_what_was_not_run() {
    local skipped
    skipped=$(skips "$1")
    if [[ -n $skipped ]]; then
        awk '{ all += $1 } END { print "skipped: " all " tests" }' <<<"$skipped"
        sed 's/^/    /' <<<"$skipped"
    else
        echo 'skipped: none'
    fi
    if [[ $tier == all ]]; then
        echo 'left out: what needs a GPU; mpirun-scripts/gpu-check.sh runs that'
    else
        echo 'left out: what needs a GPU, which gpu-check.sh runs, and what test.sh --all does too: the Javadoc pages,'
        echo "tests with the JVM's second compiler, and the long tier:"
        long_tier | sed 's/^/    /'
    fi
    has mkdocs || echo 'left out: the site of the pages, which needs MkDocs'
}

tier=everyday
if [[ ${1:-} == --all ]]; then
    tier=all
    shift
    # One class at a time: some take gigabytes, and the hosts of several would have the same names. With the JVM's second
    # compiler, which what runs for long needs, and which has orders of its own for what threads do.
    set -- -Dhvd.excludedGroups= -Dhvd.test.lanes=1 -Dhvd.test.jobLanes=1 -Dhvd.test.timingLanes=1 -Dhvd.test.compiler=-XX:+TieredCompilation "$@"
    for package in openssh-server iproute2 slurm-wlm munge libpmix-dev gradle; do
        dpkg -s "$package" >/dev/null 2>&1 || ! can_install || install_packages "$package" \
            || say "going on without $package"
    done
fi

# With it the kernels of the GPU part run on the CPU; without it those tests are skipped.
has c++ || ! can_install || install_packages g++ || say "going on without a C++ compiler"

# A second MPI, which hvd calls by foreign functions; where Open MPI is installed already, mpirun stays Open MPI's.
has mpiexec.hydra || ! can_install || install_packages mpich || say "going on without MPICH"

maven=(mvn -B)
# Javadoc takes most of a minute. javac checks the comments in the same way, and the long tier makes the pages.
if [[ $tier == everyday ]]; then maven+=(-Dmaven.javadoc.skip=true); fi
if [[ ${CI:-} == true ]]; then maven+=(-ntp); fi
# What calls MPI by foreign functions is built and tested where any JDK here has them.
if jdk22=$(jdk_home 22); then maven+=("-Dhvd.jdk22=$jdk22"); fi

began=$(date +%s)
status=0
"${maven[@]}" -f "$root/pom.xml" install "$@" || status=$?
if ((status == 0)) && [[ -d $root/docs/own-trainer ]]; then
    "${maven[@]}" -f "$root/docs/own-trainer/pom.xml" -Pone-jar verify || status=$?
fi
if ((status == 0)) && has mkdocs; then
    said_by=test.sh
    say "making the site of the pages"
    without=()
    [[ $tier == all ]] || without=(--no-javadoc)
    quietly "$scripts/site.sh" "${without[@]}" || status=$?
fi
say_what_was_not_run "$began"
exit "$status"
