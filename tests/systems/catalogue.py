"""The systems that run on Verbena as tests: one row a scenario of scenarios/systems.

A row is data: what it exercises, its packages, what its survivors say when the peer is killed, what belongs to the short form, and
what does not work, with its cause. Rows of one project stand in a file of their own beside this one.
"""
import rows_io
import rows_libfabric
import rows_mpi
import rows_storage
import rows_ucx

ROWS = (*rows_ucx.ROWS, *rows_libfabric.ROWS, *rows_mpi.ROWS, *rows_io.ROWS, *rows_storage.ROWS)


def runs(short):
    """(row, condition) of every run, in the order of the catalogue."""
    for row in ROWS:
        for condition in row.conditions():
            if not short or condition in row.short:
                yield row, condition
