package io.hvd.optimizer.agreement;

import io.hvd.AllreduceOptions;
import io.hvd.Handle;
import io.hvd.ProcessSet;
import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import io.hvd.optimizer.Optimizer;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;

/**
 * Compares the settings of the ranks' optimizers once, before the first step changes a parameter. Three numbers per rank
 * travel beside the first gradients, and the words only if the numbers differ.
 *
 * <p>Each rank adds its numbers to zeros in a place of its own. An allgather would do the same, but it is refused where
 * a rank has joined; in a sum, such a rank leaves its place empty.
 */
public final class SettingsCheck {
    private static final HvdLogger LOG = HvdLogger.of(SettingsCheck.class);
    private static final int NUMBERS = 3;
    private static final int PARAMETERS = 2;

    private final ProcessSet set;
    private final Optimizer optimizer;
    private final OptimizerScope scope;
    /** The settings that are compared besides the optimizer's own. */
    private final Map<String, String> more;
    /** The parameters that all ranks have in common. */
    private final List<String> shared;
    /** The settings that a wrapper adds. */
    private Supplier<Map<String, String>> wrapper = Map::of;
    /** The number of joins when this rank last began to compare. */
    private int joins;

    private boolean skips;
    private boolean skipsOptimizer;
    private boolean begun;
    /** Whether a step has ended with the ranks in agreement. */
    private boolean settled;

    /** The fingerprint of the parameters before the first step; 0 if they are not compared. */
    private LongSupplier parametersNow = () -> 0;
    /** A collective that throws and says which of them differ. */
    private Runnable parametersDiffer;

    private boolean haveOtherParameters;

    /** Null if nothing differs, or nothing is known yet. */
    private HvdException differing;

    private byte[] mine;
    /** The meetings that are under way. */
    private List<Meeting> meetings = List.of();

    /** The numbers of all ranks that come to a place. */
    private record Meeting(long[] numbers, Handle exchange) {}

    /**
     * @param scope keeps the checks of several optimizers apart
     * @param shared names of the parameters that all ranks have in common
     * @param more what is compared besides the optimizer's own settings
     */
    public SettingsCheck(
            ProcessSet set, Optimizer optimizer, OptimizerScope scope, List<String> shared, Map<String, String> more) {
        this.set = set;
        this.optimizer = optimizer;
        this.scope = scope;
        this.shared = List.copyOf(shared);
        this.more = new TreeMap<>(more);
        this.more.put(
                OptimizerScope.SETTING,
                scope.prefix().substring(0, scope.prefix().length() - 1));
    }

    /** @param settings of a class around the optimizer, asked for when they are sent */
    public void compareToo(Supplier<Map<String, String>> settings) {
        wrapper = settings;
    }

    /** @param now asked for when the first gradients leave @param differ a collective, for ranks of which all know that they differ */
    public void compareParameters(LongSupplier now, Runnable differ) {
        parametersNow = now;
        parametersDiffer = differ;
    }

    /** Has nothing compared from now on. */
    public void skip() {
        skips = true;
    }

    /** The optimizers' own settings are not compared. */
    public void skipOptimizer() {
        skipsOptimizer = true;
    }

    /**
     * Sends this rank's settings, if nothing has been sent before. It does not wait, because the ranks may step several
     * optimizers in different orders. In the first step after a join all ranks meet again, because some may have built the
     * optimizer since, or had no step before it; a rank that has compared already then leaves its place empty.
     */
    public void begin() {
        if (!begun || joins != set.forOptimizers().joins()) {
            begun = true;
            joins = set.forOptimizers().joins();
            if (!skips && set.included() && set.size() > 1) {
                send();
            }
        }
    }

    private void send() {
        mine = settled ? new byte[0] : words();
        long parameters = settled ? 0 : parametersNow.getAsLong();
        // Which gradient is the first one, and where the program is then, may differ between the ranks.
        set.forOptimizers()
                .inAnyOrder(() -> meetings = scope.meetingPlaces(set, shared).stream()
                        .map(place -> meet(place, parameters))
                        .toList());
    }

    private Meeting meet(String place, long parameters) {
        long[] numbers = new long[NUMBERS * set.size()];
        if (!settled) {
            numbers[NUMBERS * set.rank()] = hash(mine);
            numbers[NUMBERS * set.rank() + 1] = mine.length;
            numbers[NUMBERS * set.rank() + PARAMETERS] = parameters;
        }
        return new Meeting(
                numbers, set.allreduceInPlaceAsync(place + "numbers", Tensor.of(numbers), AllreduceOptions.sum()));
    }

    private byte[] words() {
        Map<String, String> settings = new TreeMap<>(skipsOptimizer ? Map.of() : optimizer.settings());
        more.putAll(wrapper.get());
        settings.putAll(OptimizerSettings.ofExchange(more));
        return OptimizerSettings.encode(settings);
    }

    /**
     * Every rank comes here before it waits for gradients or weights, which never meet if the scopes differ, or what is
     * averaged over.
     *
     * @throws HvdException on all ranks, if they do
     */
    public void requireThatGradientsMeet() {
        if (meetings.isEmpty()) {
            return;
        }
        long[] numbers = firstNumbers();
        List<Meeting> open = meetings;
        meetings = List.of();
        haveOtherParameters = !allEqual(numbers, PARAMETERS);
        if (!allEqual(numbers, 0)) {
            Map<Integer, Map<String, String>> texts = texts(numbers);
            differing = OptimizerSettings.differing(texts);
            if (OptimizerSettings.differInExchange(texts)) {
                throw differing; // nobody else may ever come to the other place
            }
        }
        open.forEach(meeting -> meeting.exchange.synchronize());
    }

    /** The numbers of all ranks at the place to which all of them come first. */
    private long[] firstNumbers() {
        CompletableFuture<Meeting> first = new CompletableFuture<>();
        if (meetings.size() == 1) {
            first.complete(meetings.get(0));
        } else {
            meetings.forEach(meeting -> meeting.exchange.whenDone(() -> first.complete(meeting)));
        }
        Meeting met = first.join();
        met.exchange.synchronize();
        return met.numbers;
    }

    /**
     * Every rank comes here in every step, before a parameter changes.
     *
     * @throws HvdException on all ranks, if settings differ
     */
    public void end() {
        requireThatGradientsMeet();
        if (differing != null) {
            HvdException found = differing;
            differing = null;
            throw found;
        }
        if (haveOtherParameters) {
            haveOtherParameters = false;
            begun = false; // the program may broadcast them, and go on
            parametersDiffer.run();
            begun = true;
        }
        settled = true;
    }

    /**
     * The gradients of the first step have failed on all ranks, so the next step is the first one again. A rank may go on
     * with another optimizer then.
     */
    public void startOver() {
        if (!settled) {
            begun = false;
            differing = null;
        }
        for (Meeting meeting : meetings) {
            try {
                meeting.exchange.synchronize();
            } catch (HvdException e) {
                LOG.debug("the comparison of settings has failed like the step", e);
            }
        }
        meetings = List.of();
    }

    private boolean allEqual(long[] numbers, int which) {
        return IntStream.range(0, set.size())
                        .mapToLong(place -> numbers[NUMBERS * place + which])
                        .filter(hash -> hash != 0)
                        .distinct()
                        .count()
                <= 1;
    }

    /**
     * The settings of all ranks that have not joined, by global rank. The ranks may have met first at different places, and know the
     * same numbers.
     */
    private Map<Integer, Map<String, String>> texts(long[] numbers) {
        int[] begins = begins(numbers);
        byte[] all = new byte[begins[set.size()]];
        System.arraycopy(mine, 0, all, begins[set.rank()], mine.length);
        String name = "optimizer.settings.words." + Integer.toHexString(Arrays.hashCode(numbers));
        set.allreduceInPlace(name, Tensor.ofBytes(all), AllreduceOptions.sum());
        Map<Integer, Map<String, String>> texts = new TreeMap<>();
        for (int place = 0; place < set.size(); place++) {
            if (begins[place + 1] > begins[place]) {
                byte[] text = Arrays.copyOfRange(all, begins[place], begins[place + 1]);
                texts.put(set.ranks().get(place), OptimizerSettings.decode(text));
            }
        }
        return texts;
    }

    /** Where the words of each rank begin, and after them the end of all. */
    private int[] begins(long[] numbers) {
        int[] begins = new int[set.size() + 1];
        for (int place = 0; place < set.size(); place++) {
            begins[place + 1] = Math.addExact(begins[place], Math.toIntExact(numbers[NUMBERS * place + 1]));
        }
        return begins;
    }

    /** Never 0, which stands for a rank that has joined. */
    private static long hash(byte[] text) {
        CRC32C high = new CRC32C();
        CRC32 low = new CRC32();
        high.update(text);
        low.update(text);
        long hash = high.getValue() << 32 | low.getValue();
        return hash == 0 ? 1 : hash;
    }
}
