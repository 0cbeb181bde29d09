package io.hvd.cuda;

/** What a process of its own, with a driver of the test's choice, finds: the first time and the second. */
public final class VisibleGpus {
    private VisibleGpus() {}

    public static void main(String[] args) {
        System.out.println("FIRST " + CudaPresence.ofThisProcess());
        System.out.println("SECOND " + new CudaGpuDriver().visible());
        System.out.println("AGAIN " + CudaPresence.look(java.util.List.of(), System.getenv("LD_LIBRARY_PATH")));
        System.out.println("TEMPORARY " + System.getProperty("java.io.tmpdir"));
    }
}
