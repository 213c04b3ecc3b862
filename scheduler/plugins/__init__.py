"""The rules: one module or package a plugin, named as in kube-scheduler, none importing another."""
