/** Pure decisions over the views of all ranks: who waits for whom, where the ranks parted, and a verdict in one sentence. */
package io.hvd.monitor.diagnosis;
