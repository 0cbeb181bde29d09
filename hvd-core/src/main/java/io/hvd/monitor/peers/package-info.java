/** Connects the monitors of a job: signs of life as datagrams, and questions over sockets or in shared memory. */
package io.hvd.monitor.peers;
