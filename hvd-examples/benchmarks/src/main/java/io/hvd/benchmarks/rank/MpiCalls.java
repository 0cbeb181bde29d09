package io.hvd.benchmarks.rank;

import io.hvd.spi.Backend;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.ByteBuffer;

/** MPI without hvd, on the thread on which hvd calls it. */
public interface MpiCalls {
    /** Such as {@code mpi.jar-4.1.4}. */
    String version();

    /** In place, on a direct buffer from its first byte on, in one call. */
    void sum(ByteBuffer floats, int count);

    /** From rank 0, in place on a direct buffer. */
    void broadcast(ByteBuffer floats, int count);

    /** From one direct buffer into another one. @param each so many floats of every rank */
    void allgather(ByteBuffer source, ByteBuffer target, int each);

    /** The sum, from one direct buffer into another one. @param each so many floats for every rank */
    void reduceScatter(ByteBuffer source, ByteBuffer target, int each);

    void barrier();

    /**
     * The JVM allows a JNI library only one class loader, so the opponent has to come from hvd's.
     *
     * @param backend one that MPI's provider has opened
     */
    static MpiCalls beside(Backend backend) {
        String name = "io.hvd.benchmarks.mpi.RawMpi";
        URL here = MpiCalls.class.getProtectionDomain().getCodeSource().getLocation();
        var loader = new URLClassLoader(
                "raw-mpi", new URL[] {here}, backend.getClass().getClassLoader()) {
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
