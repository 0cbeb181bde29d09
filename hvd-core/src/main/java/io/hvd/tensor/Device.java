package io.hvd.tensor;

/** The place of memory: the host, or one CUDA device by its index among the visible ones. */
public record Device(Kind kind, int index) {
    public static final Device CPU = new Device(Kind.CPU, 0);

    /** Families of devices. */
    public enum Kind {
        CPU,
        CUDA
    }

    public Device {
        if (index < 0) {
            throw new IllegalArgumentException("device index is " + index + ", expected 0 or more");
        }
    }

    /** A GPU, by its number among those that the process sees. */
    public static Device cuda(int index) {
        return new Device(Kind.CUDA, index);
    }

    /** Whether tensors lie in the host's memory. */
    public boolean isCpu() {
        return kind == Kind.CPU;
    }

    @Override
    public String toString() {
        return isCpu() ? "cpu" : "cuda:" + index;
    }
}
