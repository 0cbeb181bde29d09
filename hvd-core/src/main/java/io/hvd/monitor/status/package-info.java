/** The page on which a rank tells hvd-top what it is doing. */
package io.hvd.monitor.status;
