package io.hvd.spark;

import io.hvd.RankBody;
import java.io.Serializable;

/** The program of each rank of {@link HvdSpark#run}, which Spark sends to the executors with everything that it refers to. */
@FunctionalInterface
public interface SparkBody<R> extends RankBody<R>, Serializable {}
