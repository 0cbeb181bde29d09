/** Values that describe a rank, as it tells of itself or as others know it. All times in them are ages. */
package io.hvd.monitor.view;
