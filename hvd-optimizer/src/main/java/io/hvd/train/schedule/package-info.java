/** What schedules of learning rates are made of; users have {@code io.hvd.train.Schedule}. */
package io.hvd.train.schedule;
