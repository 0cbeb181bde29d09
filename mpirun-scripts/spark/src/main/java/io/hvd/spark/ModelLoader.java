package io.hvd.spark;

import java.io.Serializable;

/** Makes a model of bytes in an executor; Spark sends it there with everything that it refers to. */
@FunctionalInterface
public interface ModelLoader<A> extends Serializable {
    /** @param bytes what the driver has given, such as a checkpoint; shared, so not to be changed */
    BatchModel<A> load(byte[] bytes) throws Exception;
}
