"""The batch cache: the result of one pod's evaluation, reused for the next pods of the same shape (KEP-5598).

Unlike upstream's, a reused result is brought up to date before it is used, so it gives what a full evaluation would give.
"""
