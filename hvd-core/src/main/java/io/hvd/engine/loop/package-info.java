/** The communication thread: its assembly, its turns, its link to the coordinator, and its end. */
package io.hvd.engine.loop;
