/**
 * What allreduces cost on some machine and network, as far as they were measured there, and what follows for others.
 *
 * <pre>
 * Sample ... -> Fit -> CostModel -> fastest(ranks, hosts, bytes)     which way to go
 *                        ^    |  -> seconds(algorithm, shape, bytes) how long it takes
 *                   ModelFile |  -> Step.at(shape, ...)              how long a training step takes
 * </pre>
 *
 * <p>Time is what R. Hockney's model says ("The communication challenge for MPP", Parallel Computing 20, 1994): so much
 * for every message (alpha), for every byte (beta), and for every byte that is reduced (gamma). How many of each there
 * are is in {@link io.hvd.benchmarks.cost.Terms}; that they differ by size, as protocols and caches do, in
 * {@link io.hvd.benchmarks.cost.Curve}. Everything here is pure, but for the reading of the file; any thread may call it.
 */
package io.hvd.benchmarks.cost;
