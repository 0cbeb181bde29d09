/** The parts of learning rates' schedules; users have {@code io.hvd.train.Schedule}. */
package io.hvd.train.schedule;
