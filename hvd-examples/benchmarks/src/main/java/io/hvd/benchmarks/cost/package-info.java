/**
 * A cost model of allreduces: it is fitted to measurements on some machine and network, and predicts the times of
 * others.
 *
 * <pre>
 * Sample ... -> Fit -> CostModel -> fastest(algorithms, shape, bytes)  which way to go
 *                        |       -> seconds(algorithm, shape, bytes)   how long it takes
 *                    ModelFile
 * </pre>
 *
 * <p>Times follow R. Hockney's model ("The communication challenge for MPP", Parallel Computing 20, 1994): a cost for
 * every message (alpha), for every byte (beta), and for every byte that is reduced (gamma). {@link
 * io.hvd.benchmarks.cost.Terms} has the number of messages and bytes, and {@link io.hvd.benchmarks.cost.Curve} the
 * costs by size, because they change with protocols and caches. All functions are pure, except for those that write and
 * read the file; any thread may call them.
 */
package io.hvd.benchmarks.cost;
