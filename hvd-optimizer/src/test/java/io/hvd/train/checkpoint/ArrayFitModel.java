package io.hvd.train.checkpoint;

import io.hvd.HvdContext;
import io.hvd.optimizer.Adam;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.ShardedOptimizer;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.SortedMap;
import java.util.TreeMap;

/** Five arrays. */
final class ArrayFitModel implements ShardedFit.Model {
    private static final int[] LENGTHS = {7, 40, 3, 12, 5};
    static final double RATE = 0.01;

    private final float[][] values = new float[LENGTHS.length][];
    private final float[][] gradients = new float[LENGTHS.length][];
    private final ArrayParameters parameters = new ArrayParameters();

    /** @param seed of what differs between workers that have not met */
    ArrayFitModel(int seed) {
        for (int i = 0; i < LENGTHS.length; i++) {
            values[i] = new float[LENGTHS[i]];
            gradients[i] = new float[LENGTHS[i]];
            for (int j = 0; j < LENGTHS[i]; j++) {
                values[i][j] = seed + i + j / 8f;
            }
            parameters.add("p" + i, values[i], gradients[i]);
        }
    }

    @Override
    public void backward(int rank, int step, double factor) {
        for (int i = 0; i < LENGTHS.length; i++) {
            for (int j = 0; j < LENGTHS[i]; j++) {
                gradients[i][j] += (float) (factor * ((rank + 1) * values[i][j] / 3 + Math.sin(step + i * 7 + j)));
            }
        }
    }

    @Override
    public Optimizer unsharded() {
        return new Adam(parameters, RATE);
    }

    @Override
    public ShardedOptimizer sharded(HvdContext hvd) {
        return ShardedOptimizer.ofArrays(hvd, parameters, share -> new Adam(share, RATE));
    }

    @Override
    public SortedMap<String, Tensor> values() {
        SortedMap<String, Tensor> copies = new TreeMap<>();
        for (int i = 0; i < LENGTHS.length; i++) {
            copies.put("p" + i, Tensor.of(values[i].clone()));
        }
        return copies;
    }

    @Override
    public void load(SortedMap<String, Tensor> saved) {
        for (int i = 0; i < LENGTHS.length; i++) {
            System.arraycopy(saved.get("p" + i).toFloatArray(), 0, values[i], 0, LENGTHS[i]);
        }
    }

    /** Reads the state as the Javadoc of {@code ArrayState} draws it. */
    @Override
    public SortedMap<String, String> moments(byte[] state) {
        ByteBuffer bytes = ByteBuffer.wrap(state).position(Integer.BYTES);
        int words = bytes.getInt();
        bytes.position(bytes.position() + words);
        long steps = bytes.getLong();
        bytes.getDouble();
        String[] moments = new String[LENGTHS.length];
        for (int kind = 0; kind < 2; kind++) {
            for (int i = 0; i < LENGTHS.length; i++) {
                StringBuilder bits = new StringBuilder(kind == 0 ? "" : moments[i]);
                for (int j = 0; j < LENGTHS[i]; j++) {
                    bits.append(' ').append(Integer.toHexString(bytes.getInt()));
                }
                moments[i] = bits.toString();
            }
        }
        SortedMap<String, String> all = new TreeMap<>();
        for (int i = 0; i < LENGTHS.length; i++) {
            long own = steps - (bytes.hasRemaining() ? bytes.getLong() : 0);
            if (own > 0 || !moments[i].matches("( 0)+")) {
                all.put("p" + i, own + moments[i]);
            }
        }
        return all;
    }
}
