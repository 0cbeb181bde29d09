package io.hvd.engine;

import io.hvd.spi.Backend;
import io.hvd.spi.ControlChannel;
import io.hvd.spi.DataPlane;
import io.hvd.spi.Progress;
import io.hvd.testing.Recomposed;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;

/** A back end that tells what goes through it. */
record CountedBackend(Backend inner, Counts seen) implements ControlChannel {
    static Backend of(Backend inner, Counts seen) {
        CountedBackend counted = new CountedBackend(inner, seen);
        return Recomposed.of(inner, inner.bootstrap(), counted.new Control(), counted.new Planes());
    }

    static final String LATE_CALLER = "late-caller";

    static final class Counts {
        final AtomicInteger messages = new AtomicInteger();
        /** Carried out by a static plan, counted on every rank. */
        final AtomicInteger batches = new AtomicInteger();
        /** Whether the program of each rank waits, as its engine has told. */
        final List<BooleanSupplier> waits = new ArrayList<>();
        /** Ranks that have begun to leave a static plan. */
        final AtomicInteger vetoes = new AtomicInteger();
        /** Threads that have worked in the data plane for a static plan. */
        final Set<String> carriers = ConcurrentHashMap.newKeySet();
        /** Counts what rank 0 hears while the late caller is kept from waking its communication thread; or null. */
        final AtomicReference<CountDownLatch> late = new AtomicReference<>();
        /** How often the ranks have moved on what they have sent. */
        final AtomicInteger progress = new AtomicInteger();
        /** When that is due again. */
        volatile long progressDueNanos = Long.MAX_VALUE;
    }

    @Override
    public void send(int rank, ByteBuffer message) {
        seen.messages.incrementAndGet();
        inner.control().send(rank, message);
    }

    @Override
    public boolean isFlushed() {
        return inner.control().isFlushed();
    }

    @Override
    public void receive(long nanos, Inbox inbox) {
        inner.control().receive(nanos, new Inbox() {
            @Override
            public void message(int fromRank, ByteBuffer message) {
                inbox.message(fromRank, message);
                CountDownLatch heard = seen.late.get();
                if (heard != null && inner.topology().rank() == 0) {
                    heard.countDown();
                }
            }

            @Override
            public void lost(int rank, String why) {
                inbox.lost(rank, why);
            }
        });
    }

    @Override
    public void wakeUp() {
        CountDownLatch heard = seen.late.get();
        if (heard != null && Thread.currentThread().getName().equals(LATE_CALLER)) {
            awaitWithin200Millis(heard);
        }
        inner.control().wakeUp();
    }

    private static void awaitWithin200Millis(CountDownLatch heard) {
        try {
            heard.await(200, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private final class Control extends Recomposed.Control {
        Control() {
            super(inner);
        }

        @Override
        protected ControlChannel first() {
            return CountedBackend.this;
        }
    }

    private final class Planes extends Recomposed.Planes {
        Planes() {
            super(inner);
        }

        @Override
        public DataPlane ofAll() {
            return (DataPlane) Proxy.newProxyInstance(
                    DataPlane.class.getClassLoader(), new Class<?>[] {DataPlane.class}, (proxy, method, args) -> {
                        if (method.getName().equals("allreduceUnlessVetoed")) {
                            seen.carriers.add(Thread.currentThread().getName());
                            seen.batches.incrementAndGet();
                        }
                        if (method.getName().equals("vetoAllreduce")) {
                            seen.vetoes.incrementAndGet();
                        }
                        return method.invoke(inner.collectives(), args);
                    });
        }

        @Override
        public void programWaits(BooleanSupplier waits) {
            seen.waits.add(waits);
        }

        @Override
        public Progress progress() {
            return new Progress() {
                @Override
                public long make() {
                    seen.progress.incrementAndGet();
                    return seen.progressDueNanos;
                }

                @Override
                public void delivered() {
                    throw new AssertionError("nothing is known about that here");
                }

                @Override
                public boolean isPending() {
                    return true;
                }
            };
        }
    }
}
