package io.hvd.examples.djl;

import io.hvd.Hvd;
import io.hvd.error.HvdException;
import io.hvd.optimizer.djl.DjlEngine;
import io.hvd.optimizer.torch.TorchRuntime;

/** A program with DJL and JavaCPP's LibTorch on its class path, which loads the one that it is told first, and then the other. */
public final class TwoLibTorches {
    private TwoLibTorches() {}

    public static void main(String[] args) {
        Hvd.spawn(1, hvd -> {
            Runnable djl = () -> DjlEngine.load(hvd);
            Runnable javaCpp = TorchRuntime::load;
            boolean djlFirst = args[0].equals("djl");
            (djlFirst ? djl : javaCpp).run();
            try {
                (djlFirst ? javaCpp : djl).run();
                System.out.println("NOT REFUSED");
            } catch (HvdException e) {
                System.out.println("REFUSED " + e.getMessage());
            }
            return null;
        });
    }
}
