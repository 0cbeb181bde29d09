package io.hvd.optimizer;

import io.hvd.optimizer.arrays.ArrayNumbers;
import io.hvd.optimizer.arrays.ArrayState;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** One rank's share of an optimizer on plain arrays. */
final class ArrayShare implements ShardedShare {
    private final ArrayParameters all;
    /** The places of its parameters among those of the model. */
    private final int[] members;

    private final ArrayOptimizer own;

    ArrayShare(ArrayParameters all, int[] owners, int rank, ArrayOptimizer own) {
        this.all = all;
        this.members = members(owners, rank);
        this.own = own;
    }

    private static int[] members(int[] owners, int rank) {
        return IntStream.range(0, owners.length)
                .filter(parameter -> owners[parameter] == rank)
                .toArray();
    }

    @Override
    public void step() {
        own.step();
    }

    @Override
    public double learningRate() {
        return own.learningRate();
    }

    @Override
    public void learningRate(double rate) {
        own.learningRate(rate);
    }

    @Override
    public Map<String, String> settings() {
        return own.settings();
    }

    @Override
    public long stateBytes() {
        return own.buffers().stream().mapToLong(buffer -> 4L * buffer.length).sum();
    }

    @Override
    public byte[] save() {
        return own.numbers();
    }

    @Override
    public void load(byte[] whole) {
        ArrayNumbers from = ArrayNumbers.decode(state().numbers(whole), lengths(), kinds());
        ArrayNumbers share = ArrayNumbers.zeros(lengths(members), kinds());
        share.head(from.steps(), from.rate());
        for (int i = 0; i < members.length; i++) {
            share.take(i, from, members[i]);
        }
        own.numbers(share.encode());
    }

    @Override
    public NamedState named() {
        return own.namedState();
    }

    @Override
    public void load(NamedState whole) {
        own.loadNamedState(whole);
    }

    @Override
    public long fullStateBytes() {
        return own.fullStateBytes();
    }

    @Override
    public byte[] join(JoinedShares joined) {
        List<Optional<ArrayNumbers>> shares = IntStream.range(0, joined.shares().size())
                .mapToObj(rank -> share(joined, rank))
                .toList();
        Optional<ArrayNumbers> saved = Optional.ofNullable(joined.saved())
                .map(state -> ArrayNumbers.decode(state().numbers(state), lengths(), kinds()));
        state().numbersLength(); // refuses what has too many bytes
        ArrayNumbers whole = ArrayNumbers.zeros(lengths(), kinds());
        long steps = Stream.concat(shares.stream(), Stream.of(saved))
                .flatMap(Optional::stream)
                .mapToLong(ArrayNumbers::steps)
                .max()
                .orElseThrow();
        whole.head(steps, shares.get(joined.first()).orElseThrow().rate());
        int[] places = joined.places();
        for (int i = 0; i < places.length; i++) {
            Optional<ArrayNumbers> share = shares.get(joined.owners()[i]);
            take(whole, i, share.or(() -> saved), share.isPresent() ? places[i] : i);
        }
        return state().headed(whole.encode());
    }

    private static void take(ArrayNumbers whole, int parameter, Optional<ArrayNumbers> from, int place) {
        if (from.isPresent()) {
            whole.take(parameter, from.get(), place);
        } else {
            whole.beginAnew(parameter);
        }
    }

    private Optional<ArrayNumbers> share(JoinedShares joined, int rank) {
        return Optional.ofNullable(joined.shares().get(rank))
                .map(known -> ArrayNumbers.decode(known, lengths(members(joined.owners(), rank)), kinds()));
    }

    /** That of the optimizer over all parameters. */
    private ArrayState state() {
        return own.stateOver(all.list());
    }

    private int kinds() {
        return own.kinds().size();
    }

    private int[] lengths() {
        return lengths(IntStream.range(0, all.count()).toArray());
    }

    private int[] lengths(int[] parameters) {
        return IntStream.of(parameters)
                .map(parameter -> all.value(parameter).length)
                .toArray();
    }
}
