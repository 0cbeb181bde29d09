package io.hvd.contract;

import io.hvd.Hvd;
import io.hvd.InitOptions;
import io.hvd.LocalRanks;
import io.hvd.RankBody;
import io.hvd.testing.LaunchedThreads;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.TestInfo;

/** Where a test's ranks come from: threads of this JVM, the processes of the job that it runs in, or threads of those. */
sealed interface Ranks {
    /** Here the order of the summands counts, or two sets of ranks with two members each; the others run so under mpirun. */
    Set<Class<?>> WITH_FOUR_THREADS =
            Set.of(ArithmeticContractTest.class, ProcessSetContractTest.class, UnevenSetContractTest.class);

    /** Runs a body on all ranks at once; under mpirun every process is in the same test. */
    void run(RankBody<?> body) throws Exception;

    int size();

    /** Whether they need MPI to find each other. */
    default boolean onMpi() {
        return true;
    }

    /** Teams of threads, from one thread on; inside a rank of a job, its processes and nothing else. */
    static List<Ranks> here(TestInfo contract) {
        Optional<LaunchedThreads> launched = LaunchedThreads.here();
        if (launched.isPresent()) {
            return List.of(new ThreadsOfProcesses(launched.get()));
        }
        return Hvd.isInitialized()
                ? List.of(new Processes(Hvd.size()))
                : Stream.concat(
                                IntStream.rangeClosed(
                                                1,
                                                mostThreads(
                                                        contract.getTestClass().orElseThrow()))
                                        .<Ranks>mapToObj(Threads::new),
                                Stream.of(new Echo(3), new Tcp(3)))
                        .toList();
    }

    /** Maven hands this property on only where it is given on the command line, as {@code test.sh --all} does. */
    private static int mostThreads(Class<?> contract) {
        if ("".equals(System.getProperty("hvd.excludedGroups"))) {
            return 5;
        }
        return WITH_FOUR_THREADS.contains(contract) ? 4 : 3;
    }

    record Threads(int size) implements Ranks {
        @Override
        public boolean onMpi() {
            return false;
        }

        @Override
        public void run(RankBody<?> body) {
            LocalRanks.spawn(size, InitOptions.standard().withDynamicProcessSets(), Map.of(), body);
        }

        @Override
        public String toString() {
            return size + " ranks as threads";
        }
    }

    /** Connected as processes are, by a transport that has nothing but transfers. */
    record Echo(int size) implements Ranks {
        @Override
        public boolean onMpi() {
            return false;
        }

        @Override
        public void run(RankBody<?> body) {
            LocalRanks.spawnOverEcho(size, InitOptions.standard().withDynamicProcessSets(), body);
        }

        @Override
        public String toString() {
            return size + " ranks over a transport of the tests";
        }
    }

    /** Connected by TCP, with nothing that threads share. */
    record Tcp(int size) implements Ranks {
        @Override
        public boolean onMpi() {
            return false;
        }

        @Override
        public void run(RankBody<?> body) {
            LocalRanks.spawnOverTcp(
                    size,
                    InitOptions.standard().withDynamicProcessSets(),
                    Map.of("HVD_SHARED_MEMORY", "0", "HVD_ALLREDUCE_ALGORITHM", "ring"),
                    body);
        }

        @Override
        public String toString() {
            return size + " ranks over TCP";
        }
    }

    record ThreadsOfProcesses(LaunchedThreads job) implements Ranks {
        @Override
        public void run(RankBody<?> body) {
            Hvd.spawn(job.threads(), InitOptions.standard().withDynamicProcessSets(), body);
        }

        @Override
        public int size() {
            return job.processes() * job.threads();
        }

        @Override
        public String toString() {
            return job.processes() + " processes with " + job.threads() + " threads each";
        }
    }

    record Processes(int size) implements Ranks {
        @Override
        public boolean onMpi() {
            return !Hvd.context().backend().contains("tcp (");
        }

        @Override
        public void run(RankBody<?> body) throws Exception {
            body.run(Hvd.context());
        }

        @Override
        public String toString() {
            return size + " processes";
        }
    }
}
