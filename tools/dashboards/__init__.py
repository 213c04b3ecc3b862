"""The Grafana dashboards as code: `python -m tools.dashboards` writes deploy/dashboards/."""
