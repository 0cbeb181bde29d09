/** The messages of the engines to each other, with their forms: requests, announcements, batches and plans. */
package io.hvd.engine.message;
