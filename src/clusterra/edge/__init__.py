"""The edge agent as one program: which workers stand behind its heart, and its HTTP in and out.

`agent/` decides and knows no HTTP library; `adapters/` runs workers and knows no agent. They
meet here, as the control plane's doors and loops meet in `serve`.
"""
