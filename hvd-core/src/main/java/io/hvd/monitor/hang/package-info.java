/** The texts about ranks that wait: the warning, and the report of a hang with all stacks and with the answer of NCCL's RAS. */
package io.hvd.monitor.hang;
