/** Data sets of records in one file per host, which all ranks of the host map into their memory. */
package io.hvd.data.mapped;
