package io.hvd.contract;

import io.hvd.Hvd;
import io.hvd.InitOptions;
import io.hvd.RankBody;
import java.util.List;
import java.util.stream.IntStream;

/** Where a test's ranks come from: threads of this JVM, or the processes of the job that it runs in. */
sealed interface Ranks {
    /** Runs a body on all ranks at once; under mpirun every process is in the same test. */
    void run(RankBody<?> body) throws Exception;

    int size();

    /** Teams of 1 to 5 threads; inside a rank of a job, its processes and nothing else. */
    static List<Ranks> here() {
        return Hvd.isInitialized()
                ? List.of(new Processes(Hvd.size()))
                : IntStream.rangeClosed(1, 5).<Ranks>mapToObj(Threads::new).toList();
    }

    record Threads(int size) implements Ranks {
        @Override
        public void run(RankBody<?> body) {
            Hvd.spawn(size, InitOptions.standard().withDynamicProcessSets(), body);
        }

        @Override
        public String toString() {
            return size + " ranks as threads";
        }
    }

    record Processes(int size) implements Ranks {
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
