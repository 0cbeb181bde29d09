/** Signals of the system. */
package io.hvd.signal;
