/**
 * What processes of a job tell each other besides tensors: how control messages are written and read, the connections on
 * which they travel, and the addresses at which processes find each other.
 */
package io.hvd.net;
