package io.hvd.benchmarks.rank;

import io.hvd.backend.ProcessProvider;
import io.hvd.benchmarks.Samples;
import io.hvd.config.HvdConfig;
import io.hvd.net.HostAddress;
import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import io.hvd.spi.Backend;
import io.hvd.spi.BackendProvider;
import io.hvd.spi.Reduction;
import io.hvd.spi.Transport;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import io.hvd.transport.mpi.MpiProcess;
import io.hvd.transport.mpi.MpiProvider;
import io.hvd.transport.tcp.TcpProvider;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.FutureTask;

/** Runs hvd's data plane without the engine, and MPI beside it, both on the one thread that may call MPI. */
final class RawJob {
    private RawJob() {}

    /** The work on that thread. */
    interface Body {
        void run(Backend hvd, MpiCalls mpi);
    }

    /** Runs the work; all ranks call this together, with no hvd context open. */
    static void run(Body body) {
        BackendProvider provider = new ProcessProvider(new MpiProvider());
        onItsThread(Executors.callable(() -> {
            HvdConfig config = HvdConfig.fromEnvironment();
            MpiCalls mpi;
            try (Transport plain = new MpiProvider().connect(config, List.of()).transport()) {
                mpi = MpiCalls.beside();
            }
            try (Backend hvd = provider.open(config, List.of())) {
                body.run(hvd, mpi);
            }
        }));
    }

    /**
     * MPI_Allreduce by foreign functions, where this Java has them, in the process in which mpi.jar has started MPI.
     *
     * @param floats whose direct buffer is summed
     */
    static List<Contender> byForeignFunctions(Floats floats) {
        return MpiProvider.sumByForeignFunctions(HvdConfig.fromEnvironment()).stream()
                .map(sum -> Contender.sum(Samples.FOREIGN, count -> () -> sum.accept(floats.direct(), count)))
                .toList();
    }

    /** Opens hvd's TCP beside MPI, among the same ranks, which meet at rank 0; all ranks call this together. */
    static Backend overTcp(Backend hvd) {
        InetSocketAddress meeting = meeting(hvd, address(hvd));
        Map<String, String> settings = new HashMap<>(System.getenv());
        settings.put("HVD_BACKEND", TcpProvider.NAME);
        settings.put("HVD_RENDEZVOUS", meeting.getAddress().getHostAddress() + ":" + meeting.getPort());
        return new ProcessProvider(new TcpProvider("")).open(HvdConfig.from(settings), List.of());
    }

    /** This rank's address for the others. */
    static InetAddress address(Backend hvd) {
        try {
            return HostAddress.of(
                    hvd.topology().nodes(),
                    HvdConfig.fromEnvironment().control().networkInterface());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Rank 0's address with a port that was free a moment ago; all ranks call this together. */
    static InetSocketAddress meeting(Backend hvd, InetAddress here) {
        try (ServerSocketChannel free = ServerSocketChannel.open().bind(new InetSocketAddress(here, 0))) {
            var mine = (InetSocketAddress) free.getLocalAddress();
            byte[] first = hvd.exchange(MessageWriter.encode(out -> out.writeSocketAddress(mine)))
                    .get(0);
            return MessageReader.decode("rank 0's address", first, MessageReader::readSocketAddress);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Opens a back end whose data plane the program's own thread may use while hvd's engine has MPI's thread; none if the
     * ranks share no memory. All ranks call this together, before the engine begins, and {@link #close} after its end.
     */
    static Optional<Backend> besideEngine() {
        return onItsThread(() -> {
            Backend opened = new ProcessProvider(new MpiProvider()).open(HvdConfig.fromEnvironment(), List.of());
            List<Tensor> one = List.of(Tensor.of(new float[1]));
            // All ranks have come when this ends, so that nothing is under way over MPI any more.
            opened.collectives().allreduceUnlessVetoed(one, one, new Reduction(ReduceOp.SUM, DType.FLOAT32, 1.0, 1.0));
            if (opened.collectives().takesAnyThread(Device.CPU)) {
                return Optional.of(opened);
            }
            opened.close();
            return Optional.empty();
        });
    }

    /** Closes a back end; all ranks call this together. */
    static void close(Backend opened) {
        onItsThread(Executors.callable(opened::close));
    }

    /** A back end's description without its details, such as {@code shared memory over mpi}. */
    static String way(String description) {
        return description.replaceAll(" \\([^)]*\\)", "");
    }

    /** Calls MPI_Finalize; the last call of a rank that has used this class. */
    static void finish() {
        onItsThread(Executors.callable(MpiProcess.ofThisProcess()::finish));
    }

    private static <T> T onItsThread(Callable<T> work) {
        FutureTask<T> task = new FutureTask<>(work);
        MpiProcess.ofThisProcess().thread().execute(task);
        try {
            return task.get();
        } catch (ExecutionException e) {
            throw new IllegalStateException("the benchmark failed on MPI's thread", e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while the benchmark ran", e);
        }
    }
}
