package io.hvd.train;

import io.hvd.error.HvdException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;

/** The callbacks of a loop, in their order. They are told of the loop's events; if one throws, the error names it. */
final class Callbacks {
    /** An event of a loop, as a method of its callbacks. */
    interface Event {
        void of(Callback callback, Training training) throws Exception;
    }

    /** A part of the program. */
    interface Call {
        void run() throws Exception;
    }

    private final List<Callback> all = new ArrayList<>();

    void add(Callback callback) {
        all.add(Objects.requireNonNull(callback, "callback"));
        all.sort(Comparator.comparing(Callback::place));
    }

    /** The names, in the order in which the callbacks are called. */
    List<String> names() {
        return all.stream().map(Callbacks::name).toList();
    }

    /** The names of those that call collectives in batches. */
    List<String> namesOfThoseThatMeetInBatches() {
        return all.stream()
                .filter(Callback::meetsInBatches)
                .map(Callbacks::name)
                .toList();
    }

    void tell(String when, Training training, Event event) {
        for (Callback callback : all) {
            String name = "the callback " + name(callback);
            try {
                call(name, when, training, () -> event.of(callback, training));
            } catch (HvdException e) {
                throw e.getClass() == HvdException.class
                        ? new HvdException(e.id(), CallbackException.words(name, when, training, e), e)
                        : e; // a program tells a subclass, such as the end of another rank, by its type
            }
        }
    }

    /** Every callback is told that the training fails, whatever the others throw. */
    void tellOfFailure(Training training, Throwable why) {
        for (Callback callback : all) {
            try {
                callback.trainingFails(training);
            } catch (Exception e) {
                if (e != why) {
                    why.addSuppressed(e);
                }
            }
        }
    }

    /** Calls a part of the program. @throws CallbackException if it fails on this rank alone */
    static void call(String name, String when, Training training, Call call) {
        try {
            call.run();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CallbackException(name, when, training, e);
        } catch (HvdException e) {
            throw e; // a collective throws it on all ranks, for one
        } catch (Exception e) {
            throw new CallbackException(name, when, training, e);
        }
    }

    private static String name(Callback callback) {
        String simple = callback.getClass().getSimpleName();
        return simple.isEmpty() || callback.getClass().isHidden() ? "of the program" : simple;
    }
}
