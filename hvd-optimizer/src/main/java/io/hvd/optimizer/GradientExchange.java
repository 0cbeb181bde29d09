package io.hvd.optimizer;

import io.hvd.Handle;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntConsumer;

/**
 * The way of one optimizer's gradients from backward to the step: counts the backward passes, sends a bucket off
 * when its last gradient is ready, and waits for all of them.
 *
 * <p>Backward may run on another thread than the step, but not at the same time.
 */
final class GradientExchange implements GradientSource.Listener {
    private final GradientAllreduce allreduce;
    private final List<Parameter> parameters;
    private final Buckets buckets;
    private final int[] passes;
    private final boolean[] submitted;
    /** By bucket, the number of gradients that are not ready. */
    private final int[] missing;

    private final List<Flight> flights = new ArrayList<>();
    private int passesPerStep;

    GradientExchange(GradientAllreduce allreduce, List<Parameter> parameters, Buckets buckets, int passesPerStep) {
        this.allreduce = allreduce;
        this.parameters = parameters;
        this.buckets = buckets;
        this.passes = new int[parameters.size()];
        this.submitted = new boolean[parameters.size()];
        this.missing = new int[buckets.count()];
        this.passesPerStep = passesPerStep;
        startOver();
    }

    /** A gradient on its way. */
    private record Flight(Parameter parameter, Handle handle) {
        long bytes() {
            return parameter.gradient().bytes();
        }
    }

    /** Forgets the backward passes and what came of them. */
    synchronized void startOver() {
        flights.clear();
        Arrays.fill(passes, 0);
        Arrays.fill(submitted, false);
        for (int bucket = 0; bucket < buckets.count(); bucket++) {
            missing[bucket] = buckets.members(bucket).size();
        }
    }

    /** True after {@link #startOver()} and before the first gradient. */
    synchronized boolean isBetweenSteps() {
        return flights.isEmpty() && Arrays.stream(passes).allMatch(done -> done == 0);
    }

    /** To be changed between steps. */
    synchronized void passesPerStep(int count) {
        passesPerStep = count;
    }

    /** Names of the parameters whose gradients have been sent off. */
    synchronized List<String> inFlight() {
        return flights.stream().map(flight -> flight.parameter.name()).toList();
    }

    @Override
    public synchronized boolean passed(int parameter) {
        if (++passes[parameter] > passesPerStep) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "parameter \"" + parameters.get(parameter).name() + "\" has gone through backward pass "
                            + passes[parameter] + " before step(), allowed are " + passesPerStep
                            + ". Call step() in time, or raise backwardPassesPerStep");
        }
        return passes[parameter] == passesPerStep;
    }

    @Override
    public synchronized void ready(int parameter) {
        int bucket = buckets.bucketOf(parameter);
        if (--missing[bucket] == 0) {
            submit(buckets.members(bucket));
        }
    }

    /**
     * Sends off what backward has left.
     *
     * @param stage puts a gradient, or zeros, in its place: a parameter outside of this backward, or with fewer
     *     passes than planned, still takes part
     */
    synchronized void submitRest(IntConsumer stage) {
        List<Integer> rest = new ArrayList<>();
        for (int bucket = 0; bucket < buckets.count(); bucket++) {
            for (int parameter : buckets.members(bucket)) {
                if (!submitted[parameter]) {
                    if (passes[parameter] < passesPerStep) {
                        stage.accept(parameter);
                    }
                    rest.add(parameter);
                }
            }
        }
        submit(rest);
    }

    private void submit(List<Integer> members) {
        List<Handle> handles =
                allreduce.start(members.stream().map(parameters::get).toList(), passesPerStep);
        for (int i = 0; i < handles.size(); i++) {
            submitted[members.get(i)] = true;
            flights.add(new Flight(parameters.get(members.get(i)), handles.get(i)));
        }
    }

    /**
     * Waits for all, also when one fails, so that no gradient is touched behind the caller's back.
     *
     * @param backwardEnded by {@link System#nanoTime()}
     */
    StepStats awaitAll(long backwardEnded) {
        long bytes = flights.stream().mapToLong(Flight::bytes).sum();
        // Asked, not called back: the program learns of no result before it waits, so that gradients can travel
        // together.
        long hidden = flights.stream()
                .filter(flight -> flight.handle.isDone())
                .mapToLong(Flight::bytes)
                .sum();
        RuntimeException first = null;
        for (Flight flight : List.copyOf(flights)) {
            try {
                flight.handle.synchronize();
            } catch (RuntimeException e) {
                first = first == null ? e : first;
            }
        }
        if (first != null) {
            startOver();
            throw first;
        }
        return new StepStats(bytes, hidden, System.nanoTime() - backwardEnded);
    }
}
