/** The parts of {@code FullyShard}: flat parameters of which each rank keeps a shard, and when they are gathered and freed. */
package io.hvd.optimizer.torch.shard;
