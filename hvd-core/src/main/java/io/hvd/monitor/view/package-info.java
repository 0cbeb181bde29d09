/** What a rank says of itself and what other ranks know of it: values, all times in them being ages. */
package io.hvd.monitor.view;
