/** What is left of a run to look at: curves for TensorBoard, in JSON and in CSV, and the run card. */
package io.hvd.train.log;
