package io.hvd.train.loop;

import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;

/** Whether this rank asks for an end, and why. The first reason counts, and is not taken back. For any thread. */
public final class CancelRequest {
    private final List<Supplier<String>> asked = new CopyOnWriteArrayList<>();
    private final AtomicReference<String> reason = new AtomicReference<>();

    public void cancel(String why) {
        reason.compareAndSet(null, Objects.requireNonNull(why, "why"));
    }

    /** @param why null as long as the training goes on; if it throws, that is a reason */
    public void cancelWhen(Supplier<String> why) {
        asked.add(Objects.requireNonNull(why, "reason"));
    }

    /** The reason; null if this rank does not ask. */
    public String reason() {
        for (Supplier<String> each : asked) {
            String why = reason.get() == null ? answer(each) : null;
            if (why != null) {
                cancel(why);
            }
        }
        return reason.get();
    }

    /** A thread on which others wait must not end here, nor a program that cannot be asked train on for ever. */
    private static String answer(Supplier<String> asked) {
        try {
            return asked.get();
        } catch (RuntimeException e) {
            return "what was to say whether to cancel has thrown " + e;
        }
    }
}
