/**
 * Collective training with MPI. The packages {@code io.hvd}, {@code io.hvd.error}, {@code io.hvd.tensor},
 * {@code io.hvd.tensor.cuda} and {@code io.hvd.junit} are the API; hvd's own modules see some of the others.
 */
@SuppressWarnings({
    "module", // hvd's modules, which are built after this one
    "requires-automatic" // JCuda has no name of its own as a module
})
module io.hvd.core {
    requires java.management;
    requires jdk.jfr;
    requires org.slf4j;
    requires static jcuda;
    requires static org.bytedeco.cuda;
    requires static org.bytedeco.javacpp;
    requires static transitive org.junit.jupiter.api;

    uses io.hvd.spi.GpuDriver;
    uses io.hvd.spi.StartupHook;
    uses io.hvd.spi.TransportProvider;

    provides io.hvd.spi.GpuDriver with
            io.hvd.cuda.CudaGpuDriver;

    exports io.hvd;
    exports io.hvd.error;
    exports io.hvd.junit;
    exports io.hvd.tensor;
    exports io.hvd.tensor.cuda;
    exports io.hvd.backend to
            io.hvd.benchmarks;
    exports io.hvd.cuda to
            io.hvd.examples,
            io.hvd.optimizer;
    exports io.hvd.transport.mpi to
            io.hvd.benchmarks,
            io.hvd.launch;
    exports io.hvd.transport.tcp to
            io.hvd.benchmarks;
    exports io.hvd.transport.nccl.report to
            io.hvd.examples,
            io.hvd.launch;
    exports io.hvd.host.shm to
            io.hvd.launch;
    exports io.hvd.buffer to
            io.hvd.optimizer;
    exports io.hvd.config to
            io.hvd.benchmarks,
            io.hvd.examples,
            io.hvd.launch,
            io.hvd.optimizer,
            io.hvd.spark;
    exports io.hvd.elastic to
            io.hvd.launch,
            io.hvd.spark;
    exports io.hvd.file to
            io.hvd.benchmarks,
            io.hvd.examples,
            io.hvd.launch,
            io.hvd.optimizer;
    exports io.hvd.kernel to
            io.hvd.benchmarks,
            io.hvd.examples,
            io.hvd.optimizer;
    exports io.hvd.log to
            io.hvd.optimizer,
            io.hvd.spark,
            io.hvd.transformers;
    exports io.hvd.signal to
            io.hvd.optimizer;
    exports io.hvd.net to
            io.hvd.benchmarks,
            io.hvd.launch,
            io.hvd.spark;
    exports io.hvd.rendezvous to
            io.hvd.launch;
    exports io.hvd.spi to
            io.hvd.benchmarks,
            io.hvd.optimizer;
}
