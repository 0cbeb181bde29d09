package io.hvd.job;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.config.HvdConfig;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.GpuDriver;
import io.hvd.spi.GpuDriver.Gpu;
import io.hvd.spi.Topology;
import io.hvd.tensor.Device;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class GpuAssignmentTest {
    private static final List<Gpu> TWO =
            List.of(new Gpu(0, "H100", "0000:65:00.0"), new Gpu(1, "H100", "0000:b3:00.0"));

    private static final Map<String, String> SLURM_STEP =
            Map.of("SLURM_JOB_ID", "7", "SLURM_STEP_ID", "0", "SLURM_PROCID", "1", "SLURM_STEP_NUM_TASKS", "2");

    @Test
    void theLocalRankPicksTheGpuNotTheRank() {
        // Two nodes with two ranks each: ranks 2 and 3 are local ranks 0 and 1 again.
        List<String> nodes = List.of("a", "a", "b", "b");
        assertThat(IntStream.range(0, 4).mapToObj(rank -> choose(Topology.of(rank, nodes, nodes), TWO, Map.of())))
                .containsExactly(gpus(0), gpus(1), gpus(0), gpus(1));
    }

    @Test
    void theIndexIsIntoTheVisibleListWhateverTheOrderOfTheBus() {
        // CUDA_VISIBLE_DEVICES=1,0: the driver numbers what it shows from 0, in that order.
        List<Gpu> turned = List.of(new Gpu(0, "H100", "0000:b3:00.0"), new Gpu(1, "H100", "0000:65:00.0"));
        assertThat(choose(onOneNode(0, 2), turned, Map.of())).containsExactly(Device.cuda(0));
        assertThat(choose(onOneNode(1, 2), turned, Map.of())).containsExactly(Device.cuda(1));
    }

    @Test
    void aTaskTakesTheGpusThatItsSchedulerNames() {
        List<Integer> selected = new ArrayList<>();
        GpuDriver driver = noting(selected);
        HvdConfig config = HvdConfig.from(Map.of());

        assertThat(GpuAssignment.given(List.of(1), onOneNode(0, 2), config, List.of(driver)))
                .containsExactly(Device.cuda(1));
        assertThat(selected).containsExactly(1);
        assertThatThrownBy(() -> GpuAssignment.given(List.of(1, 2), onOneNode(0, 2), config, List.of(driver)))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining(
                        "has given GPUs [1, 2] to rank 0, but its process on host node7 sees only [0, 1]");
    }

    @Test
    void moreRanksThanGpusIsAnErrorThatNamesGpusPciIdsAndTheRanksThatHaveNone() {
        for (int rank = 0; rank < 3; rank++) {
            Topology topology = onOneNode(rank, 3);
            assertThatThrownBy(() -> choose(topology, TWO, Map.of()))
                    .isInstanceOfSatisfying(
                            HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.NO_DEVICE))
                    .hasMessageContainingAll(
                            "node7",
                            "3 ranks",
                            "2 visible GPU(s)",
                            "0000:65:00.0",
                            "0000:b3:00.0",
                            "too few for rank 2.",
                            "HVD_SHARE_GPU=1");
        }
    }

    @Test
    void theRanksWithoutAGpuAreThoseOfThisHostByTheirNumbersInTheWorld() {
        // Ranks go round the hosts: b has ranks 1, 3, 5 and 7.
        List<String> nodes = List.of("a", "b", "a", "b", "a", "b", "a", "b");
        assertThatThrownBy(() -> choose(Topology.of(3, nodes, nodes), TWO, Map.of()))
                .hasMessageContainingAll("host b has 4 ranks", "too few for ranks [5, 7].");
    }

    @Test
    void theErrorSaysWhatAJobOnTheCpuSets() {
        assertThatThrownBy(() -> choose(onOneNode(1, 3), TWO, Map.of()))
                .hasMessageContaining("A job that computes on the CPU sets HVD_BACKEND=mpi");
    }

    @Test
    void aJobByMpiAloneTakesNoGpuAndAsksNoDriver() {
        GpuDriver untouched = new GpuDriver() {
            @Override
            public List<Gpu> visible() {
                throw new AssertionError("a job on the CPU looked for GPUs");
            }

            @Override
            public void select(int index) {
                throw new AssertionError("a job on the CPU opened GPU " + index);
            }
        };
        HvdConfig cpu = HvdConfig.from(Map.of("HVD_BACKEND", "mpi"));
        assertThat(GpuAssignment.assign(onOneNode(2, 3), cpu, List.of(untouched)))
                .isEmpty();
    }

    @Test
    void otherwiseTheFirstOfItsGpusIsSelected() {
        assertThat(selected(Map.of())).containsExactly(1);
        assertThat(selected(Map.of("HVD_PIN_GPU", "0"))).isEmpty();
    }

    /** Two GPUs, of which it notes those that become the current one. */
    private static GpuDriver noting(List<Integer> selected) {
        return new GpuDriver() {
            @Override
            public List<Gpu> visible() {
                return TWO;
            }

            @Override
            public void select(int index) {
                selected.add(index);
            }
        };
    }

    /** What rank 1 of 2 makes the current device. */
    private static List<Integer> selected(Map<String, String> environment) {
        List<Integer> selected = new ArrayList<>();
        GpuDriver driver = noting(selected);
        GpuAssignment.assign(onOneNode(1, 2), HvdConfig.from(environment), List.of(driver));
        return selected;
    }

    @Test
    void ranksShareGpusInTurnOnceThatIsAllowed() {
        Map<String, String> sharing = Map.of("HVD_SHARE_GPU", "1");
        assertThat(IntStream.range(0, 5).mapToObj(rank -> choose(onOneNode(rank, 5), TWO, sharing)))
                .containsExactly(gpus(0), gpus(1), gpus(0), gpus(1), gpus(0));
    }

    @Test
    void withPinningSwitchedOffTheFirstVisibleGpuIsNamedAndNothingIsCounted() {
        assertThat(choose(onOneNode(2, 3), TWO.subList(0, 1), Map.of("HVD_PIN_GPU", "0")))
                .containsExactly(Device.cuda(0));
    }

    @Test
    void withTwoGpusPerRankEachTakesThePairOfItsPlace() {
        List<Gpu> four = IntStream.range(0, 4)
                .mapToObj(i -> new Gpu(i, "H100", "0000:" + i + "5:00.0"))
                .toList();
        Map<String, String> pairs = Map.of("HVD_GPUS_PER_RANK", "2");
        assertThat(choose(onOneNode(0, 2), four, pairs)).isEqualTo(gpus(0, 1));
        assertThat(choose(onOneNode(1, 2), four, pairs)).isEqualTo(gpus(2, 3));
        assertThatThrownBy(() -> choose(onOneNode(1, 3), four, pairs))
                .hasMessageContainingAll(
                        "3 ranks with 2 GPUs each", "HVD_GPUS_PER_RANK", "4 visible GPU(s)", "too few for rank 2.");
        assertThat(choose(onOneNode(2, 3), four, Map.of("HVD_GPUS_PER_RANK", "2", "HVD_SHARE_GPU", "1")))
                .isEqualTo(gpus(0, 1));
    }

    @Test
    void whatSlurmShowsATaskAloneIsItsOwnWhateverItsLocalRank() {
        List<Gpu> one = TWO.subList(0, 1);
        Map<String, String> bound = new HashMap<>(SLURM_STEP);
        bound.putAll(Map.of("SLURM_GPUS_ON_NODE", "2", "SLURM_GPUS_PER_TASK", "1"));
        assertThat(choose(onOneNode(1, 2), one, bound)).isEqualTo(gpus(0));
        // Two for three tasks: one of them would have none.
        assertThatThrownBy(() -> choose(onOneNode(1, 3), one, bound)).isInstanceOf(HvdException.class);
        // All are shown although a binding was asked for: they are counted as ever.
        assertThat(choose(onOneNode(1, 2), TWO, bound)).isEqualTo(gpus(1));
        bound.remove("SLURM_GPUS_PER_TASK");
        assertThatThrownBy(() -> choose(onOneNode(1, 2), one, bound)).isInstanceOf(HvdException.class);
        bound.put("SLURM_GPU_BIND", "closest");
        assertThatThrownBy(() -> choose(onOneNode(1, 2), one, bound)).isInstanceOf(HvdException.class);
        bound.put("SLURM_GPU_BIND", "verbose,single:1");
        assertThat(choose(onOneNode(1, 2), one, bound)).isEqualTo(gpus(0));
        bound.remove("SLURM_GPU_BIND");
        for (String binding : List.of("gpu:per_task:1", "gpu:single:1", "gpu:map_gpu:0,1")) {
            bound.put("SLURMD_TRES_BIND", binding);
            assertThat(choose(onOneNode(1, 2), one, bound)).as(binding).isEqualTo(gpus(0));
        }
    }

    @Test
    void moreTasksPerNodeThanGpusNamesTheLineOfTheBatchScript() {
        assertThatThrownBy(() -> choose(onOneNode(0, 3), TWO, SLURM_STEP))
                .hasMessageContainingAll(
                        "Slurm job 7, #SBATCH --ntasks-per-node=3 needs --gres=gpu:3",
                        "or --gres=gpu:2 at most --ntasks-per-node=2");
        assertThatThrownBy(() -> choose(onOneNode(0, 3), TWO, Map.of())).hasMessageNotContaining("Slurm");
    }

    private static List<Device> gpus(int... indices) {
        return IntStream.of(indices).mapToObj(Device::cuda).toList();
    }

    private static List<Device> choose(Topology topology, List<Gpu> visible, Map<String, String> environment) {
        return GpuAssignment.choose(topology, visible, HvdConfig.from(environment));
    }

    private static Topology onOneNode(int rank, int size) {
        List<String> node = java.util.Collections.nCopies(size, "node7");
        return Topology.of(rank, node, node);
    }
}
