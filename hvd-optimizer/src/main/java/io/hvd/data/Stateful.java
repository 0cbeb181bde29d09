package io.hvd.data;

import java.util.Map;

/**
 * A part of a training whose position belongs into a checkpoint, such as a sampler in the middle of an epoch. The name is
 * torch's ({@code Stateful} of torch.distributed.checkpoint).
 */
public interface Stateful {
    /** The state in words: short keys, each value a single line. It is the same on every rank. */
    Map<String, String> saveState();

    /**
     * Continues from a state that {@link #saveState} gave, perhaps on another number of ranks.
     *
     * @throws io.hvd.error.HvdException if the state is of something else; the message names the key, the value found and
     *     the value expected
     */
    void loadState(Map<String, String> state);
}
