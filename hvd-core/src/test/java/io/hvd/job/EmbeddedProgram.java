package io.hvd.job;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.InitOptions;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** A program that is more than a training: a server, a notebook. Its argument says what happens in it. */
public final class EmbeddedProgram {
    private EmbeddedProgram() {}

    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "thread-throws" -> threadThrows(InitOptions.standard());
            case "thread-throws-and-the-option-is-set" ->
                threadThrows(InitOptions.standard().withoutUncaughtHandler());
            case "own-handler" -> ownHandler(InitOptions.standard());
            case "own-handler-and-the-option-is-set" ->
                ownHandler(InitOptions.standard().withoutUncaughtHandler());
            case "unclosed" -> work(Hvd.init());
            case "exit" -> {
                work(Hvd.init());
                System.exit(3);
            }
            case "communication-fails" -> communicationFails();
            case "init-fails" -> initFails();
            default -> throw new IllegalArgumentException(args[0]);
        }
    }

    private static void work(HvdContext hvd) {
        float sum = hvd.allreduce("work", Tensor.of(1f), AllreduceOptions.sum()).item();
        System.out.println("WORKED " + (sum == hvd.size()));
    }

    private static void threadThrows(InitOptions options) throws InterruptedException {
        try (HvdContext hvd = Hvd.init(options)) {
            throwInAThread();
            work(hvd);
        }
    }

    private static void throwInAThread() throws InterruptedException {
        Thread request = new Thread(
                () -> {
                    throw new IllegalStateException("a request that went wrong");
                },
                "request-1");
        request.start();
        request.join();
    }

    private static void ownHandler(InitOptions options) throws InterruptedException {
        Thread.UncaughtExceptionHandler own =
                (thread, cause) -> System.out.println("OWN HANDLER " + thread.getName() + " " + cause.getMessage());
        Thread.setDefaultUncaughtExceptionHandler(own);
        try (HvdContext hvd = Hvd.init(options)) {
            System.out.println("STILL ITS OWN " + (Thread.getDefaultUncaughtExceptionHandler() == own));
            throwInAThread();
            work(hvd);
        }
    }

    /** The communication thread cannot write the result. */
    private static void communicationFails() {
        HvdContext hvd = Hvd.init();
        ByteBuffer memory = ByteBuffer.allocateDirect(8).asReadOnlyBuffer().order(ByteOrder.nativeOrder());
        Tensor readOnly = Tensor.wrap(memory, DType.FLOAT32, Shape.of(2));
        for (int call = 0; call < 2; call++) {
            try {
                hvd.allreduceInPlace("w", readOnly, AllreduceOptions.sum().withPrescale(2));
            } catch (HvdException e) {
                System.out.println("CAUGHT " + e.getMessage());
            }
        }
        hvd.close();
        try (HvdContext next = Hvd.init()) {
            work(next);
        }
    }

    /** Another thread of the program, which does not end with main. */
    private static void initFails() {
        Thread main = Thread.currentThread();
        new Thread(() -> {
                    try {
                        main.join();
                    } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                    System.out.println("LIVES ON");
                })
                .start();
        Hvd.init();
    }
}
