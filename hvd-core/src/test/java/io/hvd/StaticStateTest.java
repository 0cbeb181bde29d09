package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.StaticFields;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What hvd-core keeps in static fields: constants, and what this test lists, each with its reason. */
class StaticStateTest {
    /** What a process has once, whatever jobs it takes part in. */
    private static final Map<String, String> STATE = Map.ofEntries(
            Map.entry("io.hvd.Elastic.TASK", "the worker that each thread of a cluster's task is"),
            Map.entry("io.hvd.Hvd.BOUND", "the context of each rank that is a thread"),
            Map.entry("io.hvd.Hvd.JOB", "watches this process, from its first job on"),
            Map.entry("io.hvd.Hvd.process", "the context of the rank that this process is"),
            Map.entry(
                    "io.hvd.buffer.BufferLedger.PROCESS",
                    "memory outside the heap belongs to the process, also where Tensor makes it"),
            Map.entry("io.hvd.transport.mpi.MpiProcess.THIS", "MPI starts and ends once in a process"),
            Map.entry("io.hvd.transport.tcp.TcpProcess.THIS", "a process has one rank, and numbers its jobs"),
            Map.entry("io.hvd.signal.SigTerm.OPEN", "a process has one handler of SIGTERM, and perhaps many ranks"),
            Map.entry("io.hvd.signal.SigTerm.before", "the handler that gets the signal back"),
            Map.entry("io.hvd.cuda.CudaPresence.process", "a library that has failed to load fails again"),
            Map.entry(
                    "io.hvd.transport.nccl.natives.NcclPresence.presence",
                    "a library that has failed to load fails again"),
            Map.entry("io.hvd.transport.nccl.ResultMemory.CLEANER", "one thread gives back the memory of all tensors"),
            Map.entry("io.hvd.kernel.HalfRuns.BITS", "each thread's memory for a conversion, worth nothing after it"),
            Map.entry(
                    "io.hvd.kernel.OfferedKernel.offered", "which library adds depends on what the process has loaded"),
            Map.entry(
                    "io.hvd.kernel.HalfRuns.kernels", "which library converts depends on what the process has loaded"));

    /** Arrays that nobody writes into after they were made. */
    private static final Map<String, String> CONSTANT_ARRAYS = Map.ofEntries(
            Map.entry("io.hvd.cuda.DriverLibrary.FIRST_FUNCTION", "a name, as C has it"),
            Map.entry("io.hvd.transport.mpi.OperatorCheck.COUNTS", "sizes to try"),
            Map.entry("io.hvd.transport.mpi.OperatorCheck.EXTREME_FLOATS", "values to try"),
            Map.entry("io.hvd.engine.tuning.StepStudy.LOOKS", "steps after which it looks"),
            Map.entry("io.hvd.kernel.HalfRuns$Table.FLOATS", "the float of each float16"),
            Map.entry("io.hvd.timeline.TimelineFile.END", "the last bytes of a file"));

    /** A class with a variable and with constants, to see that the test tells them apart. */
    private static final class Example {
        static final List<String> CONSTANT = List.of("a");
        static final Runnable STATELESS = () -> {};
        static final List<String> STATE = new ArrayList<>();
        static final AtomicInteger COUNT = new AtomicInteger();
        static final int[] NUMBERS = {1, 2};
        static String variable;
    }

    @Test
    void variablesAndObjectsThatChangeAreStateAndConstantsAreNot() {
        assertThat(Stream.of(Example.class.getDeclaredFields())
                        .filter(field -> !StaticFields.isConstant(field))
                        .map(Field::getName))
                .containsExactlyInAnyOrder("STATE", "COUNT", "variable");
    }

    @Test
    void staticStateIsWhatIsListedHere() {
        assertThat(StaticFields.state()).containsExactlyInAnyOrderElementsOf(STATE.keySet());
    }

    @Test
    void constantArraysAreWhatIsListedHere() {
        assertThat(StaticFields.constantArrays()).containsExactlyInAnyOrderElementsOf(CONSTANT_ARRAYS.keySet());
    }
}
