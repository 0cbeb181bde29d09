package io.hvd.spi;

/**
 * The choice between allreduces on one level, in which all ranks reduce at once, and on two, in which the ranks of a host
 * do so first. It can be made anew while the job runs.
 */
public interface LevelChoice {
    /** Allreduces use two levels from now on, or one. All ranks call it between the same two operations. */
    void useTwoLevels(boolean two);
}
