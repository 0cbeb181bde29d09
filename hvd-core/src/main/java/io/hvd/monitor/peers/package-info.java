/** Connects the monitors of a job: signs of life as datagrams, and questions over sockets; between threads of one JVM, through an object that they share. */
package io.hvd.monitor.peers;
