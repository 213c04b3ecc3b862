"""What the scheduler knows of the cluster: nodes as columns of a table, pods accounted on them, assumed ones included."""
