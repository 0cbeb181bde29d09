package io.hvd.optimizer.guard;

import io.hvd.AllreduceOptions;
import io.hvd.Handle;
import io.hvd.ProcessSet;
import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.cuda.CudaDevice;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.kernel.Converter;
import io.hvd.log.HvdLogger;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.agreement.StepsTogether;
import io.hvd.tensor.DeviceMemory;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import java.util.stream.Stream;

/**
 * Compares the replicas every so many steps, because ranks whose parameters drift apart train on
 * without any other sign of it. Eight bytes per rank travel; only where they differ do the ranks look
 * for the parameter.
 *
 * <p>Each rank adds its numbers to zeros in a place of its own, because an allgather is refused while a rank has joined; in a
 * sum, such a rank leaves its place empty, and the others compare without it.
 */
public final class DivergenceGuard {
    private static final HvdLogger LOG = HvdLogger.of(DivergenceGuard.class);
    private static final int STAGE_BYTES = 1 << 16;
    /** How long the last comparison is waited for: a rank that has failed does not come, and those that come later have all numbers. */
    private static final int END_SECONDS = 2;

    private static final String OF_PARAMETERS =
            " The ranks may also have set another learning rate or option, changed a parameter outside of step(),"
                    + " loaded a state on some ranks only, or stepped after skipSynchronize() with gradients that were"
                    + " never averaged";
    private static final String OF_BUFFERS =
            " The running statistics of a batch norm follow each rank's own batches: make it a SyncBatchNorm, or have"
                    + " the ranks take over one another's by broadcastBuffers(...)";

    private final ProcessSet set;
    /** The parameters, and after them the buffers. */
    private final List<Parameter> parameters;

    private final int firstBuffer;
    private final StepsTogether together;
    private final String scope;
    private final DeviceFingerprints onGpus;
    private final Converter converter = new Converter();
    private final ByteBuffer stage = BufferLedger.PROCESS.direct(Owner.CHECKS, STAGE_BYTES);
    /** All steps of this rank. */
    private long steps;

    private long lastEqual;
    /** The number of joins when this rank made its last step. */
    private int joinsBefore;

    private long checkNanos;

    /**
     * @param everySteps 0 for never
     * @param scope keeps the guards of several optimizers apart
     */
    DivergenceGuard(ProcessSet set, List<Parameter> parameters, int everySteps, String scope) {
        this(set, parameters, List.of(), everySteps, scope);
    }

    /** @param buffers what else is to be the same on all ranks, each in the place of a value and a gradient */
    public DivergenceGuard(
            ProcessSet set, List<Parameter> parameters, List<Parameter> buffers, int everySteps, String scope) {
        this(set, parameters, buffers, everySteps, scope, CudaDevice::open);
    }

    /** @param opener opens a GPU by its index */
    public DivergenceGuard(
            ProcessSet set, List<Parameter> parameters, int everySteps, String scope, IntFunction<CudaDevice> opener) {
        this(set, parameters, List.of(), everySteps, scope, opener);
    }

    private DivergenceGuard(
            ProcessSet set,
            List<Parameter> parameters,
            List<Parameter> buffers,
            int everySteps,
            String scope,
            IntFunction<CudaDevice> opener) {
        this.set = set;
        this.parameters = Stream.concat(parameters.stream(), buffers.stream()).toList();
        this.firstBuffer = parameters.size();
        this.together = new StepsTogether(set, set.included() && set.size() > 1 ? everySteps : 0);
        this.scope = scope;
        this.onGpus = new DeviceFingerprints(opener);
    }

    /** The fingerprint of the parameters before the first step; 0 if they are not to be compared. */
    public long startHash() {
        return comparesAtStart() ? combined(startHashes()) : 0;
    }

    /** Whether ranks without a broadcast compare their parameters before the first step. */
    public boolean comparesAtStart() {
        return together.compares() && set.forOptimizers().joins() == 0;
    }

    private long[] startHashes() {
        return Arrays.copyOf(hashes(), firstBuffer);
    }

    /**
     * All ranks know that their parameters differed when the first gradients left, and come here.
     *
     * @throws HvdException if they still do; a program may have overwritten them since
     */
    public void requireEqualAtStart() {
        throwIfAny(diverged(gathered("hashes", startHashes()), firstBuffer));
    }

    private static void throwIfAny(HvdException found) {
        if (found != null) {
            throw found;
        }
    }

    /**
     * Every rank comes here after its last step. A rank whose peers do not come, because they have failed or are late, goes on after some
     * seconds; those that come later have its numbers.
     *
     * @throws HvdException on the ranks that have the numbers of all, if they differ
     */
    public void ended() {
        // Behind a join the ranks have made different numbers of steps, and the last one alone has the model.
        boolean steppedAlike = steps > 0 && set.forOptimizers().joins() == joinsBefore;
        if (!together.compares() || !steppedAlike || lastEqual == steps) {
            return;
        }
        long[] hashes = hashes();
        long[] all = new long[hashes.length * set.size()];
        System.arraycopy(hashes, 0, all, hashes.length * set.rank(), hashes.length);
        if (meets(all)) {
            throwIfAny(diverged(all, hashes.length));
        }
    }

    private boolean meets(long[] all) {
        try {
            Handle meeting =
                    set.allreduceInPlaceAsync(scope + "divergence.end", Tensor.of(all), AllreduceOptions.sum());
            CountDownLatch done = new CountDownLatch(1);
            meeting.whenDone(done::countDown);
            meeting.poll(); // announces it
            if (!done.await(END_SECONDS, TimeUnit.SECONDS)) {
                return false;
            }
            meeting.synchronize();
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (HvdException e) {
            LOG.debug("the ranks' parameters are not compared at the end", e);
        }
        return false;
    }

    /**
     * Every rank comes here after every step.
     *
     * @throws HvdException on all ranks, if parameters differ
     */
    public void stepped() {
        steps++;
        joinsBefore = set.forOptimizers().joins();
        if (!together.stepped()) {
            return;
        }
        long start = System.nanoTime();
        long[] hashes = hashes();
        if (!allEqual(gathered("hash", combined(hashes)))) {
            throwIfAny(diverged(gathered("hashes", hashes), hashes.length));
        }
        lastEqual = steps;
        checkNanos += System.nanoTime() - start;
    }

    private static long combined(long[] hashes) {
        long all = 0;
        for (long hash : hashes) {
            all = 31 * all + hash;
        }
        return notZero(all);
    }

    /** Time that the comparisons have taken so far. */
    long checkNanos() {
        return checkNanos;
    }

    /** The numbers of all ranks, one rank after the other; zeros of a rank that has joined. */
    private long[] gathered(String what, long... mine) {
        long[] all = new long[mine.length * set.size()];
        System.arraycopy(mine, 0, all, mine.length * set.rank(), mine.length);
        set.allreduceInPlace(scope + "divergence." + what, Tensor.of(all), AllreduceOptions.sum());
        return all;
    }

    private static boolean allEqual(long[] hashes) {
        return Arrays.stream(hashes).filter(hash -> hash != 0).distinct().count() <= 1;
    }

    /** Zero stands for a rank that has joined. */
    private static long notZero(long hash) {
        return hash == 0 ? 1 : hash;
    }

    /** @param hashes of all parameters of the first rank, then of the second, and so on; zeros of a rank that has joined @return null if they are equal */
    private HvdException diverged(long[] hashes, int count) {
        for (int i = 0; i < count; i++) {
            Map<Long, TreeSet<Integer>> ranksByHash = new TreeMap<>();
            for (int rank = 0; rank < set.size(); rank++) {
                if (hashes[rank * count + i] != 0) {
                    ranksByHash
                            .computeIfAbsent(hashes[rank * count + i], hash -> new TreeSet<>())
                            .add(set.ranks().get(rank));
                }
            }
            if (ranksByHash.size() > 1) {
                return new HvdException(
                        ErrorId.DIVERGED,
                        when(i) + "; the first that differs is \""
                                + parameters.get(i).name() + "\", in groups of ranks "
                                + ranksByHash.values() + since()
                                + (steps == 0 ? "" : i < firstBuffer ? OF_PARAMETERS : OF_BUFFERS));
            }
        }
        return null;
    }

    private String when(int parameter) {
        return steps == 0
                ? "before the first step the ranks do not have the same parameters"
                : "after step " + steps + " the ranks no longer have the same "
                        + (parameter < firstBuffer ? "parameters" : "buffers");
    }

    private String since() {
        if (steps == 0) {
            return ". Call broadcastParameters(0) on every rank before the first step.";
        }
        return ". They were equal after step " + lastEqual
                + (lastEqual == 0 ? ", if at all: was broadcastParameters() called?" : ".");
    }

    private long[] hashes() {
        long[] hashes = new long[parameters.size()];
        List<Integer> places = new ArrayList<>();
        List<DeviceMemory> memories = new ArrayList<>();
        for (int i = 0; i < hashes.length; i++) {
            Tensor value = parameters.get(i).value();
            if (value.memory() instanceof DeviceMemory memory) {
                places.add(i);
                memories.add(memory);
            } else {
                hashes[i] = hash(value);
            }
        }
        long[] fingerprints = onGpus.of(memories);
        for (int i = 0; i < fingerprints.length; i++) {
            hashes[places.get(i)] = fingerprints[i];
        }
        for (int i = 0; i < hashes.length; i++) {
            hashes[i] = notZero(hashes[i]);
        }
        return hashes;
    }

    private long hash(Tensor tensor) {
        Fingerprint fingerprint = new Fingerprint();
        int chunk = STAGE_BYTES / tensor.dtype().bytes();
        for (long from = 0; from < tensor.elements(); from += chunk) {
            int count = (int) Math.min(chunk, tensor.elements() - from);
            converter.pack(tensor, from, count, stage, 0, tensor.dtype(), 1.0);
            fingerprint.add(stage, count * tensor.dtype().bytes());
        }
        return fingerprint.value();
    }
}
