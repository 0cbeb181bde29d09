package io.hvd.examples.gpu;

import java.net.URL;

/** Answers as G3 does, for a train.jar of a test's own: whether a real java finds the natives that G3 has to hide. */
public final class HiddenNatives {
    static final String TO_HIDE = "org/bytedeco/cuda/linux-x86_64/libjninccl.so";
    static final String TO_KEEP = "jcuda/driver/JCudaDriver.class";

    private HiddenNatives() {}

    public static void main(String[] args) {
        URL hidden = ClassLoader.getSystemResource(TO_HIDE);
        URL kept = ClassLoader.getSystemResource(TO_KEEP);
        System.out.println("CHECK G3 " + (hidden == null && kept != null ? "pass" : "fail") + " NCCL's natives: "
                + hidden + ", JCuda: " + kept);
    }
}
