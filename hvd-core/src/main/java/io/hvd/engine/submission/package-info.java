/** The operations that the program's threads submit: their slots, their queue, and who wakes whom. */
package io.hvd.engine.submission;
