package io.hvd.benchmarks.rank;

import io.hvd.transport.mpi.MpiProcess;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.ByteBuffer;

/** Calls of MPI without hvd, on the thread on which hvd calls MPI. */
public interface MpiCalls {
    /** The name and version of mpi.jar, such as {@code mpi.jar-4.1.4}. */
    String version();

    /** Sums in place with one call, in a direct buffer from its first byte on. */
    void sum(ByteBuffer floats, int count);

    /** Broadcasts from rank 0, in place in a direct buffer. */
    void broadcast(ByteBuffer floats, int count);

    /** Gathers from one direct buffer into another one. @param each number of floats of every rank */
    void allgather(ByteBuffer source, ByteBuffer target, int each);

    /**
     * Reduces by sums and scatters, from one direct buffer into another one.
     *
     * @param each number of floats for every rank
     */
    void reduceScatter(ByteBuffer source, ByteBuffer target, int each);

    /** Sends a part of one direct buffer to each rank, and receives one from each in the other. @param each floats */
    void alltoall(ByteBuffer source, ByteBuffer target, int each);

    void barrier();

    /** The mean of the ranks' values, the same on every rank. */
    float mean(float ours);

    /**
     * The calls through the class loader of hvd's mpi.jar, because the JVM lets only one class loader use a JNI
     * library. MPI has started before.
     */
    static MpiCalls beside() {
        String name = "io.hvd.benchmarks.mpi.RawMpi";
        URL here = MpiCalls.class.getProtectionDomain().getCodeSource().getLocation();
        var loader = new URLClassLoader(
                "raw-mpi", new URL[] {here}, MpiProcess.ofThisProcess().loader()) {
            @Override
            protected Class<?> loadClass(String wanted, boolean resolve) throws ClassNotFoundException {
                return wanted.equals(name) ? findClass(wanted) : super.loadClass(wanted, resolve);
            }
        };
        try {
            return (MpiCalls) loader.loadClass(name).getConstructor().newInstance();
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("mpi.jar's classes were not found beside hvd's", e);
        }
    }
}
