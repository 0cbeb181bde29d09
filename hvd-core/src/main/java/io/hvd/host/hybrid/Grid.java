package io.hvd.host.hybrid;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import io.hvd.spi.Topology;
import io.hvd.spi.Transfers;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Which rank is which thread of which process: thread t of process p is rank p x threads + t.
 *
 * @param process this one's number
 * @param threads ranks of each process
 */
record Grid(int processes, int process, int threads) {
    /** Transfers between two processes tell their threads apart by a tag for each pair. */
    private static final int MOST_THREADS = (int) Math.sqrt(Transfers.TAGS);

    Grid {
        if (threads > MOST_THREADS) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "spawn of " + threads + " ranks in each of " + processes + " processes, expected at most "
                            + MOST_THREADS + "; start more processes with fewer ranks each");
        }
    }

    int size() {
        return Math.multiplyExact(processes, threads);
    }

    int rank(int thread) {
        return process * threads + thread;
    }

    int processOf(int rank) {
        return rank / threads;
    }

    int threadOf(int rank) {
        return rank % threads;
    }

    boolean isHere(int rank) {
        return processOf(rank) == process;
    }

    List<Integer> ranksOf(int anyProcess) {
        return IntStream.range(anyProcess * threads, (anyProcess + 1) * threads)
                .boxed()
                .toList();
    }

    /** The places of all ranks, seen by one of this process. */
    Topology topology(int thread, Topology ofProcesses) {
        List<String> nodes = new ArrayList<>();
        List<String> hosts = new ArrayList<>();
        for (int rank = 0; rank < size(); rank++) {
            nodes.add(ofProcesses.nodes().get(processOf(rank)).toString());
            hosts.add(ofProcesses.hosts().get(processOf(rank)));
        }
        return Topology.of(rank(thread), nodes, hosts);
    }

    /**
     * The grid of these processes, if all of them have the same number of threads.
     *
     * @param told what {@link #tell} has made in each process
     * @throws HvdException on all processes alike if one of them has another number
     */
    static Grid agreed(Topology ofProcesses, List<byte[]> told) {
        List<Integer> numbers = told.stream().map(Grid::threads).toList();
        int expected = numbers.get(0);
        List<String> others = IntStream.range(0, numbers.size())
                .filter(process -> numbers.get(process) != expected)
                .mapToObj(process -> "process " + process + " on "
                        + ofProcesses.hosts().get(process) + " has " + numbers.get(process))
                .toList();
        if (!others.isEmpty()) {
            throw new HvdException(
                    ErrorId.DIFFERENT_SETTINGS,
                    "the processes of this job have different numbers of ranks as threads: expected " + expected
                            + ", as process 0 on " + ofProcesses.hosts().get(0) + " has, but "
                            + String.join(", ", others)
                            + "; call Hvd.spawn with the same number in all processes, or set HVD_BACKEND=local if"
                            + " each is to be a job of its own");
        }
        return new Grid(numbers.size(), ofProcesses.rank(), expected);
    }

    static byte[] tell(int threads) {
        return MessageWriter.encode(out -> out.writeInt(threads));
    }

    static int threads(byte[] told) {
        return MessageReader.decode("a process's number of ranks", told, MessageReader::readInt);
    }
}
