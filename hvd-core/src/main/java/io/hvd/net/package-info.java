/**
 * The communication between the processes of a job other than tensors: how control messages are written and read, the
 * connections that carry them, and the addresses at which processes find each other.
 */
package io.hvd.net;
