/**
 * Collectives of ranks that share memory: threads of one JVM, or processes of one host that have mapped one file. Where
 * all ranks of a set share one memory, data goes from the user's tensors through that memory and back (one level).
 * Where several groups of ranks have a memory each, another data plane carries each group's data to the other groups
 * (two levels). The packages around this one say where the memory lies, how a rank's death is noticed, and what goes
 * between the groups.
 */
package io.hvd.host.memory;
