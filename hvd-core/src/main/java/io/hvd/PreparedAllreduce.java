package io.hvd;

import io.hvd.engine.Engine;
import io.hvd.engine.submission.PreparedOps;
import io.hvd.spi.OpKind;

/**
 * An allreduce of tensors that are reduced again and again, made by {@link ProcessSet#prepareAllreduce}. It is to
 * {@link ProcessSet#allreduceInPlaceAsync} what a persistent collective of MPI 4.0 ({@code MPI_Allreduce_init}, {@code
 * MPI_Start}, {@code MPI_Wait}) is to {@code MPI_Iallreduce}.
 *
 * <pre>{@code
 * try (PreparedAllreduce bucket = hvd.prepareAllreduce(names, gradients, AllreduceOptions.average())) {
 *     for (...) {
 *         backward(gradients);
 *         bucket.start();
 *         ...
 *         bucket.await();
 *     }
 * }
 * }</pre>
 *
 * <p>Once the steps of all ranks repeat, its starts are not negotiated any more.
 */
public final class PreparedAllreduce extends PreparedCollective {
    PreparedAllreduce(CollectiveCalls calls, Engine engine, PreparedOps prepared) {
        super(OpKind.ALLREDUCE, calls, engine, prepared);
    }
}
